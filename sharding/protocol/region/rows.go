package region

import "github.com/coterie-go/coterie/sharding/protocol"

// rows are the entries of the shards that run elsewhere, in little space, and by their homes.
//
// Invariants: the shards of a home are linked, and count is their number. A home without a shard is
// free. The row of a shard about which more is known is empty.
type rows struct {
	of    []row // by ShardID
	homes []homeRow
	byUID map[protocol.UID]uint32 // the places in homes
	free  []uint32                // likewise, of those without a shard
}

// row is what there is to know of a shard that runs elsewhere.
type row struct {
	epoch, rest uint64 // the token
	home        uint32 // its place in homes, from 1; 0: none
	prev, next  uint32 // of the same home, from 1; 0: none
	remote      bool   // the route leads to the home, by the token; else it is unknown
	doubt       bool
}

// homeRow is a home with its shards.
type homeRow struct {
	uid   protocol.UID
	first uint32 // from 1; 0: none
	count int
}

func newRows(shards int) rows {
	return rows{of: make([]row, shards), byUID: map[protocol.UID]uint32{}}
}

func remoteRoute(home protocol.UID, t protocol.Token) protocol.Route {
	return protocol.Route{State: protocol.RouteRemote, Home: home, Token: t}
}

// empty reports whether a row says nothing.
func (rs *rows) empty(s protocol.ShardID) bool { return rs.of[s] == row{} }

// place makes the place of a shard from its row.
func (rs *rows) place(s protocol.ShardID) place {
	r := &rs.of[s]
	p := place{token: protocol.UnpackToken(r.epoch, r.rest), doubt: r.doubt}
	if r.home != 0 {
		p.home = rs.homes[r.home-1].uid
	}
	if r.remote {
		p.route = remoteRoute(p.home, p.token)
	}
	return p
}

// put makes the row of a shard from a place of which it can say all.
func (rs *rows) put(s protocol.ShardID, p *place) {
	r := &rs.of[s]
	if r.home == 0 || rs.homes[r.home-1].uid != p.home {
		rs.unlink(s)
		rs.link(s, p.home)
	}
	r.epoch, r.rest = p.token.Pack()
	r.remote, r.doubt = p.route.State == protocol.RouteRemote, p.doubt
}

// clear empties the row of a shard.
func (rs *rows) clear(s protocol.ShardID) {
	rs.unlink(s)
	rs.of[s] = row{}
}

func (rs *rows) link(s protocol.ShardID, home protocol.UID) {
	if home == 0 {
		return
	}
	i, known := rs.byUID[home]
	switch {
	case known:
	case len(rs.free) > 0:
		i = rs.free[len(rs.free)-1]
		rs.free = rs.free[:len(rs.free)-1]
	default:
		i = uint32(len(rs.homes))
		rs.homes = append(rs.homes, homeRow{})
	}
	h, r := &rs.homes[i], &rs.of[s]
	rs.byUID[home], h.uid = i, home
	r.home, r.prev, r.next = i+1, 0, h.first
	if r.next != 0 {
		rs.of[r.next-1].prev = uint32(s) + 1
	}
	h.first = uint32(s) + 1
	h.count++
}

func (rs *rows) unlink(s protocol.ShardID) {
	r := &rs.of[s]
	if r.home == 0 {
		return
	}
	h := &rs.homes[r.home-1]
	if r.next != 0 {
		rs.of[r.next-1].prev = r.prev
	}
	if r.prev != 0 {
		rs.of[r.prev-1].next = r.next
	} else {
		h.first = r.next
	}
	if h.count--; h.count == 0 {
		delete(rs.byUID, h.uid)
		rs.free = append(rs.free, r.home-1)
	}
	r.home, r.prev, r.next = 0, 0, 0
}

// shardsOf are the shards of a home that have rows.
func (rs *rows) shardsOf(home protocol.UID) (all []protocol.ShardID) {
	i, known := rs.byUID[home]
	if !known {
		return nil
	}
	for at := rs.homes[i].first; at != 0; at = rs.of[at-1].next {
		all = append(all, protocol.ShardID(at-1))
	}
	return all
}
