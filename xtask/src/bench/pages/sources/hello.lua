local escape = require("escape")

ngx.print(table.concat({
  '<!doctype html>\n<html>\n<head><meta charset="utf-8"><title>Hello</title></head>\n<body><h1>Hello, ',
  escape("World"),
  "!</h1></body>\n</html>\n",
}))
