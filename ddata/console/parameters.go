package console

import (
	"fmt"
	"net/url"
	"strconv"

	"github.com/coterie-go/coterie/ddata/console/api"
	"github.com/coterie-go/coterie/ddata/console/section"
)

// maxShard is above every number of a shard.
const maxShard = 1 << 21

// parameters reads those of a request. The first fault stays.
type parameters struct {
	values url.Values
	err    error
}

// text is a parameter that must be there, and is no longer than an id may be.
func (p *parameters) text(name string) string {
	s := p.values.Get(name)
	if p.err == nil && (s == "" || len(s) > api.IDMax) {
		p.err = fmt.Errorf("%w: parameter %q has %d bytes, want 1 to %d", section.ErrBad, name, len(s), api.IDMax)
	}
	return s
}

// number is a parameter from 0 to most, or otherwise if it is missing.
func (p *parameters) number(name string, otherwise, most int) int {
	s := p.values.Get(name)
	if s == "" {
		return otherwise
	}
	n, err := strconv.Atoi(s)
	if p.err == nil && (err != nil || n < 0 || n > most) {
		p.err = fmt.Errorf("%w: parameter %q is no number from 0 to %d", section.ErrBad, name, most)
	}
	return n
}
