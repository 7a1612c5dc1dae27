package console

import "embed"

//go:embed page/index.html page/console.css page/console.js page/icon.svg
var assets embed.FS

// file is one of those of the page.
type file struct {
	mime string
	body []byte
}

// files are those of the page, by their paths.
var files = map[string]file{
	"":            read("index.html", "text/html; charset=utf-8"),
	"console.css": read("console.css", "text/css; charset=utf-8"),
	"console.js":  read("console.js", "text/javascript; charset=utf-8"),
	"icon.svg":    read("icon.svg", "image/svg+xml"),
}

func read(name, mime string) file {
	b, err := assets.ReadFile("page/" + name)
	if err != nil {
		panic("console: a file of the page is not embedded: " + err.Error())
	}
	return file{mime, b}
}
