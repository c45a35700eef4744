"""What new rows must satisfy and become: store assignment, schema merge, rules, generated and identity columns."""
