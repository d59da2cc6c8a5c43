"""What records are made of: fields, dates, digests, HTTP messages, rules."""
