"""HTTP and its words, as the RFCs have them: errors (`problems`), texts in the client's language, strict JSON, JSON
pointers, entity tags, API versions, traces, headers of every answer, and whether a body is worth reading.

Here belongs what can be said of a header, a path or a body alone, without a caller, a row or an app. It imports
nothing else of `blueprints`.
"""
