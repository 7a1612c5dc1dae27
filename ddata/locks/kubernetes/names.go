package kubernetes

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"strings"
)

// The annotations of the store's objects.
const (
	// nameAnnotation has the name of the lease, or storeName.
	nameAnnotation = "coterie/name"
	// triedAnnotation has a random value, which Open changes.
	triedAnnotation = "coterie/tried"
	// touchedAnnotation has a random value, which changes the resourceVersion.
	touchedAnnotation = "coterie/touched"
	// fenceAnnotation has the fence of the last hold that has used a record.
	fenceAnnotation = "coterie/fence"
	// sumAnnotation has the CRC-32C of a record.
	sumAnnotation = "coterie/crc32c"
)

// storeName is in the place of a lease's name in the object that stands for the store.
const storeName = "a store of leases"

const (
	randomBytes = 16
	readableMax = 100
)

// object returns the name of the objects of a lease: the prefix, what is readable of the lease's name, and a
// hash of it, for names that differ only in what Kubernetes does not take.
func (s *Store) object(name string) string {
	readable := strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', '0' <= r && r <= '9':
			return r
		case 'A' <= r && r <= 'Z':
			return r - 'A' + 'a'
		}
		return '-'
	}, name)
	readable = strings.Trim(readable[:min(len(readable), readableMax)], "-")
	if readable != "" {
		readable += "-"
	}
	sum := sha256.Sum256([]byte(name))
	return s.prefix + "-" + readable + hex.EncodeToString(sum[:randomBytes])
}

// random returns a random value as text.
func random() string {
	b := make([]byte, randomBytes)
	rand.Read(b)
	return hex.EncodeToString(b)
}

// identityOf returns a new holderIdentity: the owner, and a random value that no other hold has.
func identityOf(owner string) string {
	host, _ := os.Hostname()
	text := fmt.Sprintf("%s, process %d on %s_%s", owner, os.Getpid(), host, random())
	return strings.ToValidUTF8(text, "?")
}

// ownerOf returns the owner that a holderIdentity names.
func ownerOf(identity string) string {
	if i := strings.LastIndexByte(identity, '_'); i >= 0 {
		return identity[:i]
	}
	return identity
}
