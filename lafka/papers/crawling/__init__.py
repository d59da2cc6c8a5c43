"""Where the walk and Scrapy meet: captures, failures, arguments, the children that parse."""
