"""The meeting of walk and Scrapy: captures, arguments, pages read in children."""
