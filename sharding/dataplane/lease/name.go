package lease

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/coterie-go/coterie/ddata/locks"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// StoreID is what nodes compare of a store: its ID, or its Go type if it has no ID; as much of that as
// fits, and a hash of the whole. A store that is nil has none.
func StoreID(store any) protocol.StoreID {
	name := ""
	switch s := store.(type) {
	case nil:
		return ""
	case interface{ ID() string }:
		name = s.ID()
	default:
		name = fmt.Sprintf("%T", s)
	}
	return protocol.StoreID(fit(name, "", protocol.StoreMax))
}

// StoreIDs is what nodes compare of several stores together. It depends on their order.
func StoreIDs(stores []any) protocol.StoreID {
	var names []string
	for _, s := range stores {
		names = append(names, string(StoreID(s)))
	}
	return protocol.StoreID(fit(strings.Join(slices.Compact(names), ", "), "", protocol.StoreMax))
}

// fit is a name and what follows it, if that has at most so many bytes; else the name is cut and
// made different by a hash of the whole.
func fit(name, rest string, most int) string {
	if len(name)+len(rest) <= most && utf8.ValidString(name) {
		return name + rest
	}
	sum := sha256.Sum256([]byte(name + rest))
	tail := "…" + hex.EncodeToString(sum[:16]) + rest
	return strings.ToValidUTF8(name[:min(len(name), most-len(tail))], "") + tail
}

// leaseName names a lease after the cluster, the type, and what it is for. A type has no '/', so no
// two are alike; what is too long is cut and made different by a hash of the whole.
func leaseName(kind, cluster, typ, rest string) string {
	return fit(kind+"/"+cluster+"/"+typ, rest, locks.NameMax)
}

// ShardName is the name of the lease of a shard.
func ShardName(cluster, typ string, number uint32) string {
	return leaseName("shard", cluster, typ, fmt.Sprintf("/%d", number))
}

// CoordinatorName is the name of the lease of a type's coordinator.
func CoordinatorName(cluster, typ string) string {
	return leaseName("coordinator", cluster, typ, "")
}
