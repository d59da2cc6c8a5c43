"""The examples: small sites on loopback, a list that leads to one, RePEc data that leads to one."""
