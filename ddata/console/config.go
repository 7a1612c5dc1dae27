package console

import (
	"cmp"
	"net/http"
	"time"
)

// Config says what callers may do with a console. Zero fields take their defaults.
type Config struct {
	// Authorize is the user's own authentication: what the maker of a request may do, and its name. It is called
	// for every request, the page's too, from any goroutine. An error, or None, refuses; a
	// Challenge says how to authenticate. The error's text is not shown. Tokens has one. Default:
	// every request is refused, with a text that names this field.
	Authorize func(*http.Request) (Caller, error)

	// Others is what the consoles of other nodes may do on this node. With Read they look. With Operate they
	// also have this node leave, drain, change its limits, look at the balance of a type whose coordinator it
	// has, and act for entity types that were not started on their node. The rest of what they do reaches this
	// node as what any member may do, and cannot be refused: see design.md. Default: Read.
	Others Access

	// NodeTimeout bounds the wait for one other node. What it has not said by then is missing from
	// the answer, which names it. Default: 1 s.
	NodeTimeout time.Duration

	// Events is how many of the node's last events are kept for the timeline. The first Handler or
	// Answer of a node decides. Default: 500.
	Events int

	// Path is the path below which the handler is mounted, with a slash at its end. Default: that of
	// the pattern with which a http.ServeMux has found it; else "/".
	Path string
}

// WithDefaults returns the config with the default in place of each zero field that has one.
func (c Config) WithDefaults() Config {
	c.Others = max(c.Others, Read)
	c.NodeTimeout = cmp.Or(c.NodeTimeout, time.Second)
	c.Events = cmp.Or(c.Events, 500)
	return c
}
