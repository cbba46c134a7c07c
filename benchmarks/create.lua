-- Every request creates another article: the slug is unique per process and run.
local run = string.format("%x", os.time()) .. "-" .. tostring({}):match("0x(%x+)")
local count = 0

function request()
  count = count + 1
  local body = string.format(
    '{"title": "Measured %d", "slug": "measured-%s-%d", "body": "One paragraph of a very ordinary length."}',
    count, run, count)
  wrk.headers["Content-Type"] = "application/json"
  return wrk.format("POST", nil, nil, body)
end
