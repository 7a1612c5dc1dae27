package roles

import (
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/replicator/settings"
)

// Config is what is different for one role. All but MinMembers is about the users' data of the
// role, so the node must have it; reserved data has Replication too. Zero fields mean what ddata.Config
// says for all roles.
type Config struct {
	// MinMembers gates the first Up as ddata.Config.MinMembers does: joining members stay Joining until so
	// many have the role. An entity type of the role waits for as many regions before its first shard gets a
	// home, unless its Coordination.MinRegions says otherwise. A node may name roles that it does not
	// have. The same on all nodes. Default: none.
	MinMembers int

	// DurableKeys are durable beside those of ddata.Config.DurableKeys, in this role only. What is said there
	// holds here, too. All members of the cluster must speak format level 2 (format.RolePatterns): a node with
	// such keys refuses others. Take one off as there, with coterie data remove -role. Default: none.
	DurableKeys []string

	// Expire are rules for the role instead of those of ddata.Config.Expire. An empty map that is not nil
	// switches them off. Default: nil, those of ddata.Config.
	Expire map[string]time.Duration

	// WriteBehind is for the users' data of the role what ddata.Config.WriteBehind is for that of all.
	// Negative: commit at once. Default 0: as ddata.Config says.
	WriteBehind time.Duration

	// Replication tunes the Replicators of the role; fields that are zero have the value of
	// ddata.Config.Replication. DigestSeed, FrameMax and GroupMax must be left zero: members of all roles
	// compare them. So must what the node itself sets.
	Replication settings.Config
}

// Configs are those of a node, by role.
type Configs map[string]Config

// Clone copies what the caller may change later.
func (all Configs) Clone() Configs {
	own := maps.Clone(all)
	for role, r := range own { // order: each by itself
		r.DurableKeys, r.Expire = slices.Clone(r.DurableKeys), maps.Clone(r.Expire)
		own[role] = r
	}
	return own
}

// MinMembers are those of each role that has some.
func (all Configs) MinMembers() map[string]int {
	some := map[string]int{}
	for role, r := range all { // order: into a map
		if r.MinMembers != 0 {
			some[role] = r.MinMembers
		}
	}
	return some
}

// DurableKeys are the durable keys of single roles, as views have them.
func (all Configs) DurableKeys() (patterns []string) {
	for _, role := range slices.Sorted(maps.Keys(all)) {
		for _, p := range all[role].DurableKeys {
			patterns = append(patterns, view.OfRole(role, p))
		}
	}
	return patterns
}

// data reports whether anything is said of the role's data.
func (c Config) data() bool {
	return !reflect.ValueOf(c.Replication).IsZero() || c.DurableKeys != nil || c.Expire != nil || c.WriteBehind != 0
}
