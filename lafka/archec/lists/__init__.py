"""Lists of futlis for a crawl of papers, from RePEc data or from a store."""
