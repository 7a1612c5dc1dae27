package console

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/coterie-go/coterie/ddata/console/api"
	"github.com/coterie-go/coterie/ddata/console/section"
)

// post takes an action.
func (c *handler) post(r *http.Request, access Access) (any, error) {
	switch mime, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";"); {
	case r.Method != http.MethodPost:
		return nil, fmt.Errorf("%w: this path takes POST", section.ErrBad)
	case r.Header.Get(api.Header) == "":
		return nil, fmt.Errorf("%w: the header %s is missing", errForgeable, api.Header)
	case strings.TrimSpace(mime) != "application/json":
		return nil, fmt.Errorf("%w: the content type must be application/json", errForgeable)
	case access < Operate:
		return nil, fmt.Errorf("%w: you may look, and not act", errRefused)
	}
	if err := c.origins.Check(r); err != nil {
		return nil, fmt.Errorf("%w: %w", errForgeable, err)
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, bodyMax+1))
	if err == nil && len(body) > bodyMax {
		err = fmt.Errorf("above %d bytes", bodyMax)
	}
	var a api.Action
	if err == nil {
		err = json.Unmarshal(body, &a)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: the body is no action: %w", section.ErrBad, err)
	}
	return c.perform(r.Context(), a, r.RemoteAddr)
}
