"""What joins the walk of a trail to Scrapy: captures, arguments, pages read in child processes."""
