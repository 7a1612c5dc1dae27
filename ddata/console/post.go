package console

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/coterie-go/coterie/ddata/console/api"
	"github.com/coterie-go/coterie/ddata/console/section"
)

// post takes an action. An attempt that is refused is an event, too.
func (c *handler) post(r *http.Request, caller Caller) (any, error) {
	err := c.mayAct(r, caller)
	a, unread := actionOf(r)
	switch {
	case err != nil:
		c.station.refused(&c.station.refusals, a, caller.by(r), err)
		return nil, err
	case unread != nil:
		return nil, unread
	}
	return c.perform(r.Context(), a, caller.by(r))
}

// mayAct refuses what the caller may not do, and what a page of another site could have made it do.
func (c *handler) mayAct(r *http.Request, caller Caller) error {
	switch mime, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";"); {
	case r.Header.Get(api.Header) == "":
		return fmt.Errorf("%w: the header %s is missing", errForgeable, api.Header)
	case strings.TrimSpace(mime) != "application/json":
		return fmt.Errorf("%w: the content type must be application/json", errForgeable)
	case caller.Access < Operate:
		return fmt.Errorf("%w: you may look, and not act", errRefused)
	}
	if err := c.origins.Check(r); err != nil {
		return fmt.Errorf("%w: %w", errForgeable, err)
	}
	return nil
}

// actionOf reads the action of a request.
func actionOf(r *http.Request) (a api.Action, err error) {
	body, err := io.ReadAll(io.LimitReader(r.Body, bodyMax+1))
	if err == nil && len(body) > bodyMax {
		err = fmt.Errorf("above %d bytes", bodyMax)
	}
	if err == nil {
		d := json.NewDecoder(bytes.NewReader(body))
		d.DisallowUnknownFields() // what is written in another way would be left out, and the action another one
		if err = d.Decode(&a); err == nil {
			if _, more := d.Token(); more != io.EOF {
				err = errors.New("something follows it")
			}
		}
	}
	if err != nil {
		return api.Action{}, fmt.Errorf("%w: the body is no action: %w", section.ErrBad, err)
	}
	return a, nil
}
