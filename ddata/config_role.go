package ddata

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata/config"
	"github.com/coterie-go/coterie/ddata/format"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/replicator/keyspace"
	"github.com/coterie-go/coterie/replicator/settings"
)

// RoleConfig is what is different for one role. All but MinMembers is about the users' data of the
// role, so the node must have it; reserved data has Replication too. Zero fields mean what Config says
// for all roles.
type RoleConfig struct {
	// MinMembers gates the first Up as Config.MinMembers does: joining members stay Joining until so many
	// have the role. An entity type of the role waits for as many regions before its first shard gets a
	// home, unless its Coordination.MinRegions says otherwise. A node may name roles that it does not
	// have. The same on all nodes. Default: none.
	MinMembers int

	// DurableKeys are durable beside those of Config.DurableKeys, in this role only. What is said there
	// holds here, too. All members of the cluster must speak format level 2 (format.RolePatterns): a node with
	// such keys refuses others. Take one off with coterie data remove -role. Default: none.
	DurableKeys []string

	// Expire are rules for the role instead of those of Config.Expire. An empty map that is not nil
	// switches them off. Default: nil, those of Config.
	Expire map[string]time.Duration

	// WriteBehind is for the users' data of the role what Config.WriteBehind is for that of all.
	// Negative: commit at once. Default 0: as Config says.
	WriteBehind time.Duration

	// Replication tunes the Replicators of the role; fields that are zero have the value of
	// Config.Replication. DigestSeed, FrameMax and GroupMax must be left zero: members of all roles compare
	// them. So must what the node itself sets.
	Replication settings.Config
}

// clone copies what the caller may change later.
func (r RoleConfig) clone() RoleConfig {
	r.DurableKeys, r.Expire = slices.Clone(r.DurableKeys), maps.Clone(r.Expire)
	return r
}

// minMembers are those of each role that has some.
func (c Config) minMembers() map[string]int {
	all := map[string]int{}
	for role, r := range c.PerRole { // order: into a map
		if r.MinMembers != 0 {
			all[role] = r.MinMembers
		}
	}
	return all
}

// rolePatterns are the durable keys of single roles, as views have them.
func (c Config) rolePatterns() (all []string) {
	for _, role := range slices.Sorted(maps.Keys(c.PerRole)) {
		for _, p := range c.PerRole[role].DurableKeys {
			all = append(all, view.OfRole(role, p))
		}
	}
	return all
}

// concerned reports whether a pattern of a view is about data of this node.
func (c Config) concerned(pattern string) bool {
	return slices.ContainsFunc(c.Roles, func(r string) bool { return len(view.PatternsOf([]string{pattern}, r)) > 0 })
}

// replication is the configuration of this node's Replicator of a dataset, except the node's identity.
func (c Config) replication(set keyspace.Dataset) settings.Config {
	own := c.PerRole[set.Role]
	r := config.Or(own.Replication, c.Replication)
	r.Reserved, r.OperationTimeout = set.Reserved, c.RequestTimeout
	if c.Preset == Local {
		r.GossipInterval = cmp.Or(r.GossipInterval, 200*time.Millisecond)
		r.RetryInterval = cmp.Or(r.RetryInterval, 50*time.Millisecond)
	}
	r.WriteBehind = c.WriteBehind
	if !set.Reserved {
		r.WriteBehind = max(0, cmp.Or(own.WriteBehind, c.WriteBehind))
		if r.Expire = c.Expire; own.Expire != nil {
			r.Expire = own.Expire
		}
	}
	return r
}

// checkRoles finds what is wrong with the settings of single roles.
func (c Config) checkRoles(f *config.Faults) {
	roles := c.withDefaults().Roles
	for _, role := range slices.Sorted(maps.Keys(c.PerRole)) {
		r, name := c.PerRole[role], "PerRole["+role+"]"
		f.Add(checkName(role) != nil, "PerRole", "%q: %v", role, checkName(role))
		f.Add(r.MinMembers < 0, name+".MinMembers", "is negative")
		f.Add(!slices.Contains(roles, role) && r.data(), name,
			"says how data is kept, and this node does not have the role; its Roles are %q", roles)
		f.Add(len(r.DurableKeys) > 0 && c.Dir == "", "Dir",
			"is empty, but %s.DurableKeys names durable keys; give a directory of this node's own", name)
		f.Add(len(r.DurableKeys) > 0 && c.DurableKeys != nil && len(c.DurableKeys) == 0, name+".DurableKeys",
			"names durable keys, and an empty Config.DurableKeys switches durability off")
		f.Add(len(r.DurableKeys) > 0 && c.FormatMax != 0 && c.FormatMax < format.RolePatterns, name+".DurableKeys",
			"needs format level %d, and Config.FormatMax is %d: add them when the roll-out is over",
			format.RolePatterns, c.FormatMax)
		checkPatterns(f, name+".", r.DurableKeys, r.Expire)
		checkReplication(f, name+".Replication", r.Replication)
		f.Add(r.Replication.DigestSeed != 0 || r.Replication.FrameMax != 0 || r.Replication.GroupMax != 0,
			name+".Replication", "DigestSeed, FrameMax and GroupMax are the same for all roles: set Config.Replication")
	}
}

// data reports whether anything is said of the role's data.
func (r RoleConfig) data() bool {
	return !reflect.ValueOf(r.Replication).IsZero() || r.DurableKeys != nil || r.Expire != nil || r.WriteBehind != 0
}

// checkPatterns finds names and patterns of keys that no data of users can have.
func checkPatterns(f *config.Faults, of string, durable []string, expire map[string]time.Duration) {
	check := func(k string) error {
		return cmp.Or(crdt.CheckKey(k), keyspace.CheckKey(k, false), view.CheckUsers(k))
	}
	for _, k := range durable {
		err := check(k)
		f.Add(err != nil, of+"DurableKeys", "%q: %w", k, err)
	}
	for _, k := range slices.Sorted(maps.Keys(expire)) {
		err := check(k)
		f.Add(err != nil, of+"Expire", "%q: %w", k, err)
		f.Add(expire[k] < time.Second, of+"Expire", "%q expires after %v; give at least a second", k, expire[k])
	}
}
