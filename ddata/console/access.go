package console

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/coterie-go/coterie/ddata/console/api"
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

// authorize says what a caller may do: something, if there is no error.
func (c *handler) authorize(r *http.Request) (Access, error) {
	if c.cfg.Authorize == nil {
		return None, fmt.Errorf("%w: this console lets none in: set Config.Authorize of package console to say "+
			"which callers may look and act; console.Tokens is one", errRefused)
	}
	access, err := c.cfg.Authorize(r)
	if challenge, ok := errors.AsType[Challenge](err); ok {
		return None, challenge
	}
	if err != nil || access == None {
		return None, fmt.Errorf("%w: not allowed", errRefused)
	}
	return access, nil
}

// refuse answers a stranger.
func refuse(w http.ResponseWriter, err error) {
	if challenge, ok := errors.AsType[Challenge](err); ok {
		w.Header().Set("WWW-Authenticate", string(challenge))
		write(w, http.StatusUnauthorized, api.Error{Code: api.CodeRefused, Text: "authenticate first"})
		return
	}
	fail(w, err)
}
