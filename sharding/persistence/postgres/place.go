package postgres

import (
	"cmp"
	"fmt"

	"github.com/coterie-go/coterie/sharding/persistence"
)

// place is that of an event among those of its type: the run of the server in which it was stored, the
// transaction, and its number therein. Events of finished transactions are read only up to the oldest one
// that runs, so none can come before one that was read.
type place struct {
	era int64
	xid int64
	n   int32
}

func (p place) compare(o place) int {
	return cmp.Or(cmp.Compare(p.era, o.era), cmp.Compare(p.xid, o.xid), cmp.Compare(p.n, o.n))
}

func (p place) offset() persistence.Offset {
	return persistence.Offset(fmt.Sprintf("%d.%d.%d", p.era, p.xid, p.n))
}

func parsePlace(o persistence.Offset) (p place, err error) {
	if o == "" {
		return p, nil
	}
	_, err = fmt.Sscanf(string(o), "%d.%d.%d", &p.era, &p.xid, &p.n)
	if err != nil || p.offset() != o {
		return p, fmt.Errorf("postgres: %q is no offset of this store", string(o))
	}
	return p, nil
}
