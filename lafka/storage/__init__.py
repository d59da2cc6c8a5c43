"""Files that survive a power cut: folders, drafts, locks, and what happens when the disk refuses;
threads and bounded children for work beside the crawl.
"""
