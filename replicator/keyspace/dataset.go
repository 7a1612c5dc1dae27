package keyspace

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Dataset names a body of replicated data: what the Replicators of the members with a role keep
// together. A role has two, the users' and the reserved one. They have their members in common, and
// nothing else: each has clocks, logs, windows, repairs and a table on disk of its own.
type Dataset struct {
	Role string
	// Reserved: it is for what extensions of the nodes keep, such as package sharding.
	Reserved bool
}

// Datasets are those of some roles: of each role the users', then the reserved one.
func Datasets(roles []string) []Dataset {
	all := make([]Dataset, 0, 2*len(roles))
	for _, r := range roles {
		all = append(all, Dataset{Role: r}, Dataset{Role: r, Reserved: true})
	}
	return all
}

// Kind is "user" or "reserved", for labels and tables.
func (d Dataset) Kind() string {
	if d.Reserved {
		return "reserved"
	}
	return "user"
}

// Channel is the name of the channel by which its Replicators talk.
func (d Dataset) Channel() string {
	if d.Reserved {
		return "reserved/" + d.Role
	}
	return "replicator/" + d.Role
}

// String names it within a sentence.
func (d Dataset) String() string {
	if d.Reserved {
		return fmt.Sprintf("reserved data of role %q", d.Role)
	}
	return fmt.Sprintf("data of role %q", d.Role)
}

// ReservedPrefix begins all keys of reserved data, and no key of users' data.
const ReservedPrefix = "sharding/"

// IsReserved reports whether a key is one of reserved data. A pattern is about reserved keys if it
// begins with the prefix: "*" is about users' keys only.
func IsReserved(key string) bool { return strings.HasPrefix(key, ReservedPrefix) }

// ErrForeignKey: the key is not one of this data.
var ErrForeignKey = errors.New("replicator: key of other data")

// CheckKey returns an ErrForeignKey that says why a key is not one of reserved data, or of users'.
func CheckKey(key string, reserved bool) error {
	switch is := IsReserved(key); {
	case is && !reserved:
		return fmt.Errorf("%w: keys that begin with %q are reserved for extensions of the node; choose another name",
			ErrForeignKey, ReservedPrefix)
	case !is && reserved:
		return fmt.Errorf("%w: reserved data has only keys that begin with %q; other keys belong in the users' data",
			ErrForeignKey, ReservedPrefix)
	}
	return nil
}

// PatternsOf are those of the patterns that are about reserved keys, or about users'.
func PatternsOf(patterns []string, reserved bool) []string {
	return slices.DeleteFunc(slices.Clone(patterns), func(p string) bool { return IsReserved(p) != reserved })
}
