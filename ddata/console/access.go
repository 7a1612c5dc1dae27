package console

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/coterie-go/coterie/ddata/console/api"
	"github.com/coterie-go/coterie/ddata/console/timeline"
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

// Caller is the maker of a request, as Config.Authorize knows it.
type Caller struct {
	Access Access
	// Name is what events, and so logs, call it by beside its address. Empty: by its address alone, which behind
	// a proxy is that of the proxy.
	Name string
}

// nameMax bounds the name of a caller, in bytes.
const nameMax = 200

// by names the maker of a request.
func (c Caller) by(r *http.Request) string {
	if c.Name == "" {
		return r.RemoteAddr
	}
	return fmt.Sprintf("%s from %s", timeline.Clip(c.Name, nameMax), r.RemoteAddr)
}

// Challenge is the error of an Authorize that wants to be given credentials: the answer is 401, with
// this as its header WWW-Authenticate.
type Challenge string

// Error implements error.
func (c Challenge) Error() string { return "console: not authenticated: " + string(c) }

// Tokens is an Authorize by two secrets, for those that have no other authentication. A program sends
// one as "Authorization: Bearer SECRET", a browser asks its user for it, as a password with any name.
// An empty secret lets none in. Serve it over TLS only. It names a caller by its token, and by the name that a
// browser's user has given, which nothing proves.
type Tokens struct {
	// Read lets its bearer look, Operate look and act.
	Read, Operate string
}

// Authorize is for Config.Authorize.
func (t Tokens) Authorize(r *http.Request) (Caller, error) {
	user, secret, ok := r.BasicAuth()
	if !ok {
		secret, ok = strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	}
	switch {
	case ok && same(secret, t.Operate):
		return Caller{Operate, named("the token Operate", user)}, nil
	case ok && same(secret, t.Read):
		return Caller{Read, named("the token Read", user)}, nil
	}
	return Caller{}, Challenge(`Basic realm="coterie", charset="UTF-8"`)
}

func named(token, user string) string {
	if user == "" {
		return token
	}
	return fmt.Sprintf("%q, by %s", user, token)
}

// same compares in a time that says nothing of the secret.
func same(given, secret string) bool {
	a, b := sha256.Sum256([]byte(given)), sha256.Sum256([]byte(secret))
	return secret != "" && subtle.ConstantTimeCompare(a[:], b[:]) == 1
}

// authorize says what a caller may do: something, if there is no error.
func (c *handler) authorize(r *http.Request) (caller Caller, err error) {
	if c.cfg.Authorize == nil {
		return caller, fmt.Errorf("%w: this console lets none in: set Config.Authorize of package console to say "+
			"which callers may look and act; console.Tokens is one", errRefused)
	}
	caller, err = c.cfg.Authorize(r)
	if challenge, ok := errors.AsType[Challenge](err); ok {
		return caller, challenge
	}
	if err != nil || caller.Access == None {
		return caller, fmt.Errorf("%w: not allowed", errRefused)
	}
	return caller, nil
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
