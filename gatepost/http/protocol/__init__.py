"""HTTP as the RFCs define it: problems, translations, strict JSON, entity tags, API versions, traces, headers.

Code belongs here if it needs only a header, a path or a body, and no caller, row or app. The folder imports no other
folder of `http`.
"""
