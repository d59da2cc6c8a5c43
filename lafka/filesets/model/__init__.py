"""The values of filesets: requests, manifests, results, statuses, rows."""
