package sim

import (
	"github.com/coterie-go/coterie/sharding/dataplane/mailbox"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// checkBounds holds what waits for homes and in mailboxes to the limits of its region, after every
// event. What the mailboxes of a closed shard held is put back whatever the limit says; until that
// has gone nothing more is taken.
func checkBounds(w *World) {
	o := &w.opt.Limits
	if o.MailboxMax == 0 {
		return
	}
	for _, p := range w.live {
		for _, d := range p.types {
			if d.plane == nil {
				continue
			}
			r := d.plane.R
			waits, size := r.Routes.Limit.Count.Load(), r.Routes.Limit.Bytes.Load()
			if (waits > int64(o.BufferMax) || size > int64(o.BufferBytes)) && waits > d.waits && !d.putsBack {
				w.violate("buffers keep to their limits",
					"%v: %d messages of T%d with %d bytes wait for homes, limits %+v", p, waits, d.index, size, *o)
			}
			d.waits, d.putsBack = waits, false
			if held := r.Entities.Held.Used(); held > int64(o.RegionBytes) {
				w.violate("mailboxes keep to their limits", "%v: the mailboxes of T%d hold %d bytes, limits %+v",
					p, d.index, held, *o)
			}
		}
	}
}

// checkMailbox holds an entity's mailbox to its limits. A worker may have as many messages as may
// wait.
func (d *typeHost) checkMailbox(s protocol.ShardID, id protocol.EntityID) {
	w, o := d.p.w, &d.p.w.opt.Limits
	if o.MailboxMax == 0 {
		return
	}
	shard := d.plane.R.Routes.Hosted[s].Load()
	if shard == nil {
		return
	}
	e := shard.Find(string(id))
	if e == nil {
		return
	}
	messages, size := 0, e.Bytes()
	e.Each(func(mailbox.Envelope) { messages++ })
	if messages > 2*o.MailboxMax || size > o.MailboxBytes {
		w.violate("mailboxes keep to their limits", "%v: that of T%d/%s has %d messages and %d bytes, limits %+v",
			d.p, d.index, id, messages, size, *o)
	}
}
