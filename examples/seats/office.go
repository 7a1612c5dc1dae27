package seats

import (
	"errors"
	"sync"

	"github.com/coterie-go/coterie/sharding"
)

// ErrFenced is what the office answers to a node that has lost the show to another one.
var ErrFenced = errors.New("seats: another node has the show")

// Office keeps the guest of each seat. It stands for a service outside of the cluster, such as a database, with
// a row for each show. Its methods may be called concurrently.
type Office struct {
	// LooksAway has the office not look at tokens. That is the mistake that the tests find.
	LooksAway bool

	mu    sync.Mutex
	shows map[string]*row
}

type row struct {
	token  sharding.FencingToken // the highest one that was shown
	guests map[int]string
}

// row returns the row of a show, for the holder of a token. The caller holds mu.
func (o *Office) row(show string, token sharding.FencingToken) (*row, error) {
	r := o.shows[show]
	if r == nil {
		r = &row{guests: map[int]string{}}
		if o.shows == nil {
			o.shows = map[string]*row{}
		}
		o.shows[show] = r
	}
	if token.Less(r.token) && !o.LooksAway {
		return nil, ErrFenced
	}
	if r.token.Less(token) {
		r.token = token
	}
	return r, nil
}

// Guest returns the guest of a seat, or "".
func (o *Office) Guest(show string, token sharding.FencingToken, seat int) (string, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	r, err := o.row(show, token)
	if err != nil {
		return "", err
	}
	return r.guests[seat], nil
}

// Give gives a seat to a guest.
func (o *Office) Give(show string, token sharding.FencingToken, seat int, guest string) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	r, err := o.row(show, token)
	if err != nil {
		return err
	}
	r.guests[seat] = guest
	return nil
}
