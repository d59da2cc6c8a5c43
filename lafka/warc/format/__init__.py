"""The parts of records: fields, dates, digests, HTTP messages, rules."""
