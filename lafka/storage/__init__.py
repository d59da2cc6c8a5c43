"""Files that survive a power cut: folders, drafts, locks, threads, and what happens when the disk
refuses.
"""
