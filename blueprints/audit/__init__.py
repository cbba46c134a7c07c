"""The audit trail over HTTP (`endpoints`) and for operators (`commands`). `gatepost.http.auditing` writes it."""
