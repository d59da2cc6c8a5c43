"""The obi store on disk: folders, names, times, texts, journals, evidence."""
