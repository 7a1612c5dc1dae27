package console

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/coterie-go/coterie/ddata/console/answers"
	"github.com/coterie-go/coterie/ddata/console/api"
	"github.com/coterie-go/coterie/ddata/console/peers"
	"github.com/coterie-go/coterie/ddata/console/section"
)

var (
	// errRefused: the caller may not do this.
	errRefused = errors.New("console: refused")
	// errStranger: the caller may not even look.
	errStranger = errors.New("console: a stranger")
	// errForgeable: a page of another site could have made the request.
	errForgeable = errors.New("console: forgeable request")
	// errNoPath: nothing is there.
	errNoPath = errors.New("console: no such path; GET api/v1 lists what there is")
)

// wrongMethod is the error of a path that takes other methods: those of the header Allow.
type wrongMethod string

// Error implements error.
func (w wrongMethod) Error() string { return "console: this path takes " + string(w) }

// failures are the errors that have a code of their own, and how HTTP says them.
var failures = []struct {
	err    error
	code   string
	status int
}{
	{errRefused, api.CodeRefused, http.StatusForbidden},
	{errForgeable, api.CodeForgeable, http.StatusForbidden},
	{section.ErrBad, api.CodeBad, http.StatusBadRequest},
	{section.ErrUnknown, api.CodeNotFound, http.StatusNotFound},
	{errNoPath, api.CodeNotFound, http.StatusNotFound},
	{answers.ErrBusy, api.CodeBusy, http.StatusServiceUnavailable},
	{peers.ErrBusy, api.CodeBusy, http.StatusServiceUnavailable},
}

// codeOf is the code of an error.
func codeOf(err error) string {
	if _, ok := errors.AsType[wrongMethod](err); ok {
		return api.CodeBad
	}
	for _, f := range failures {
		if errors.Is(err, f.err) {
			return f.code
		}
	}
	return api.CodeFailed
}

// statusOf is how HTTP says an error.
func statusOf(err error) int {
	if _, ok := errors.AsType[wrongMethod](err); ok {
		return http.StatusMethodNotAllowed
	}
	for _, f := range failures {
		if errors.Is(err, f.err) {
			return f.status
		}
	}
	return http.StatusBadGateway
}

// errorOf is the error that another node's code stands for.
func errorOf(e api.Error) error {
	for _, f := range failures {
		if f.code == e.Code {
			return fmt.Errorf("%w: %s", f.err, strings.TrimPrefix(e.Text, f.err.Error()+": "))
		}
	}
	return errors.New(e.Text)
}
