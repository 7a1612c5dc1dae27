package roles

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata/config"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/ddata/transport"
	"github.com/coterie-go/coterie/replicator/keyspace"
	"github.com/coterie-go/coterie/replicator/settings"
)

// Check finds what is wrong with the settings of single roles on a node that has some roles.
func (all Configs) Check(f *config.Faults, has []string) {
	for _, role := range slices.Sorted(maps.Keys(all)) {
		r, name := all[role], "PerRole["+role+"]"
		f.Add(r.MinMembers < 0, name+".MinMembers", "is negative")
		f.Add(!slices.Contains(has, role) && r.data(), name,
			"says how data is kept, and this node does not have the role; its Roles are %q", has)
		CheckKeys(f, name+".", r.DurableKeys, r.Expire)
		CheckReplication(f, name+".Replication", r.Replication)
		f.Add(r.Replication.DigestSeed != 0 || r.Replication.FrameMax != 0 || r.Replication.GroupMax != 0,
			name+".Replication", "DigestSeed, FrameMax and GroupMax are the same for all roles: set Config.Replication")
	}
}

// CheckKeys finds names and patterns of keys that no data of users can have. The fields have names that begin
// with a prefix.
func CheckKeys(f *config.Faults, prefix string, durable []string, expire map[string]time.Duration) {
	check := func(k string) error {
		return cmp.Or(crdt.CheckKey(k), keyspace.CheckKey(k, false), view.CheckUsers(k))
	}
	for _, k := range durable {
		err := check(k)
		f.Add(err != nil, prefix+"DurableKeys", "%q: %w", k, err)
	}
	for _, k := range slices.Sorted(maps.Keys(expire)) {
		err := check(k)
		f.Add(err != nil, prefix+"Expire", "%q: %w", k, err)
		f.Add(expire[k] < time.Second, prefix+"Expire", "%q expires after %v; give at least a second", k, expire[k])
	}
}

// CheckReplication finds what Replicators could not run with, or a node sets itself. The field has a name.
func CheckReplication(f *config.Faults, name string, r settings.Config) {
	own := r.Self != 0 || r.Disk != 0 || r.Reserved || r.DurableKeys != nil || r.Expire != nil || r.WriteBehind != 0 ||
		r.OperationTimeout != 0
	f.Add(own, name,
		"Self, Disk, Reserved, DurableKeys, Expire, WriteBehind and OperationTimeout are set by the node itself")
	r.Self, r.DurableKeys, r.Expire = 1, nil, nil
	f.Of(name, r.Validate())
	f.Add(r.FrameMax > transport.DefaultFrameMax/2, name+".FrameMax",
		"is %d; the transport takes frames of %d bytes, and messages may be half as large again",
		r.FrameMax, transport.DefaultFrameMax)
}
