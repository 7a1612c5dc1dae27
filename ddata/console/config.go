package console

import (
	"cmp"
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"strings"
	"time"
)

// Access is what a caller may do.
type Access uint8

// From nothing to everything.
const (
	None    Access = iota // nothing; the zero value
	Read                  // look
	Operate               // look and act
)

// String names it.
func (a Access) String() string {
	switch a {
	case Read:
		return "read"
	case Operate:
		return "operate"
	}
	return "none"
}

// Config says what callers may do with a console. Zero fields take their defaults.
type Config struct {
	// Authorize is the user's own authentication: what the maker of a request may do. It is called
	// for every request, the page's too, from any goroutine. An error, or None, refuses; a
	// Challenge says how to authenticate. The error's text is not shown. Tokens has one. Default:
	// every request is refused, with a text that names this field.
	Authorize func(*http.Request) (Access, error)

	// Others is what the consoles of other nodes may do on this node. With Read they look. With Operate they
	// also have this node leave, drain, change its limits, look at the balance of a type whose coordinator it
	// has, and act for entity types that were not started on their node. The rest of what they do reaches this
	// node as what any member may do, and cannot be refused: see Trust in the package comment. Default: Read.
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

func (c Config) withDefaults() Config {
	c.Others = max(c.Others, Read)
	c.NodeTimeout = cmp.Or(c.NodeTimeout, time.Second)
	c.Events = cmp.Or(c.Events, 500)
	return c
}

// Challenge is the error of an Authorize that wants to be given credentials: the answer is 401, with
// this as its header WWW-Authenticate.
type Challenge string

// Error implements error.
func (c Challenge) Error() string { return "console: not authenticated: " + string(c) }

// Tokens is an Authorize by two secrets, for those that have no other authentication. A program sends
// one as "Authorization: Bearer SECRET", a browser asks its user for it, as a password with any name.
// An empty secret lets none in. Serve it over TLS only.
type Tokens struct {
	// Read lets its bearer look, Operate look and act.
	Read, Operate string
}

// Authorize is for Config.Authorize.
func (t Tokens) Authorize(r *http.Request) (Access, error) {
	_, secret, ok := r.BasicAuth()
	if !ok {
		secret, ok = strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	}
	switch {
	case ok && same(secret, t.Operate):
		return Operate, nil
	case ok && same(secret, t.Read):
		return Read, nil
	}
	return None, Challenge(`Basic realm="coterie", charset="UTF-8"`)
}

// same compares in a time that says nothing of the secret.
func same(given, secret string) bool {
	a, b := sha256.Sum256([]byte(given)), sha256.Sum256([]byte(secret))
	return secret != "" && subtle.ConstantTimeCompare(a[:], b[:]) == 1
}
