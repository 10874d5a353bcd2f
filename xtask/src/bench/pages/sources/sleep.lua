local pieces = { "<p>Before.</p>\n" }
ngx.sleep(25)
pieces[#pieces + 1] = "<p>After.</p>\n"
ngx.print(table.concat(pieces))
