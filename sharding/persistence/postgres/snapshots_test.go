package postgres_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/persistence/postgres"
	"github.com/coterie-go/coterie/sharding/protocol"
)

func snapshot(id protocol.EntityID, seq uint64, body string) persistence.Snapshot {
	return persistence.Snapshot{
		Entity: id, Seq: seq, Name: "State", Version: 3, Body: []byte(body), At: time.UnixMicro(5).UTC(),
	}
}

// newest returns what LoadSnapshots finds, by read.
func newest(t *testing.T, s *postgres.Store, h persistence.Hosting, reads ...persistence.SnapshotRead) map[int]string {
	t.Helper()
	found := map[int]string{}
	err := s.LoadSnapshots(t.Context(), h, reads, func(i int, sn persistence.Snapshot) error {
		found[i] = fmt.Sprint(sn.Seq, " ", string(sn.Body), sn.Body == nil)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestSnapshots(t *testing.T) {
	schema := newSchema()
	s, h := open(t, schema), hosting(1, 1)
	for _, sn := range []persistence.Snapshot{snapshot("a", 5, "old"), snapshot("a", 5, "five"), snapshot("a", 9, "")} {
		refused, err := s.SaveSnapshots(t.Context(), h, []persistence.Snapshot{sn, snapshot("b", 5, "b")})
		if err != nil || len(refused) > 0 {
			t.Fatal(refused, err)
		}
	}
	reads := []persistence.SnapshotRead{
		{Entity: "a"}, {Entity: "none"}, {Entity: "a", Below: 9}, {Entity: "a", Below: 5},
	}
	if got := fmt.Sprint(newest(t, s, h, reads...)); got != "map[0:9 false 2:5 fivefalse]" {
		t.Error(got)
	}
	exec(t, suite.Server(t).DSN(), "UPDATE "+quoted(schema)+".snapshots SET body = 'x' WHERE seq = 9")
	if got := fmt.Sprint(newest(t, s, h, reads[0])); got != "map[0:9 true]" {
		t.Error("damaged:", got)
	}
	if err := s.DeleteSnapshots(t.Context(), h, "a", 8); err != nil {
		t.Fatal(err)
	}
	if got := newest(t, s, h, reads[2], persistence.SnapshotRead{Entity: "b"}); fmt.Sprint(got) != "map[1:5 bfalse]" {
		t.Error("after a deletion:", got)
	}
	big := snapshot("big", 1, "")
	big.Body = make([]byte, persistence.BodyMax+1)
	refused, err := s.SaveSnapshots(t.Context(), h, []persistence.Snapshot{big, snapshot("c", 1, "c")})
	if err != nil || len(refused) != 1 || refused[0].Index != 0 || !errors.Is(refused[0].Err, persistence.ErrTooLarge) {
		t.Error(refused, err)
	}
	fence(t, s, hosting(1, 2))
	_, errSave := s.SaveSnapshots(t.Context(), h, []persistence.Snapshot{snapshot("a", 10, "late")})
	errLoad := s.LoadSnapshots(t.Context(), h, reads, func(int, persistence.Snapshot) error { return nil })
	for _, err := range []error{errSave, errLoad, s.DeleteSnapshots(t.Context(), h, "b", 9)} {
		if !errors.Is(err, persistence.ErrFenced) {
			t.Error(err)
		}
	}
}

func stateWrite(id protocol.EntityID, after, writeID uint64, body string) persistence.StateWrite {
	return persistence.StateWrite{Entity: id, After: after, ID: writeID, State: persistence.State{
		Revision: after + 1, Deleted: body == "", Body: []byte(body), Tags: []string{"t"}, At: time.UnixMicro(5).UTC(),
	}}
}

func TestStates(t *testing.T) {
	schema := newSchema()
	s, h := open(t, schema), hosting(1, 1)
	save := func(h persistence.Hosting, want string, writes ...persistence.StateWrite) {
		t.Helper()
		refused, err := s.SaveStates(t.Context(), h, writes)
		if err != nil {
			t.Fatal(err)
		}
		var conflicts []int
		for _, r := range refused {
			if !errors.Is(r.Err, persistence.ErrConflict) {
				t.Error(r.Err)
			}
			conflicts = append(conflicts, r.Index)
		}
		if got := fmt.Sprint(conflicts); got != want {
			t.Errorf("refused %s, want %s", got, want)
		}
	}
	save(h, "[]", stateWrite("a", 0, 1, "a1"), stateWrite("b", 0, 2, "b1"), stateWrite("\x00", 0, 3, "z"))
	save(h, "[]", stateWrite("a", 0, 1, "a1"))
	save(h, "[0 2]", stateWrite("a", 0, 4, "other"), stateWrite("b", 1, 5, ""), stateWrite("none", 7, 6, "x"))
	later := hosting(1, 2)
	fence(t, s, later)
	save(later, "[0]", stateWrite("b", 1, 5, ""))
	save(later, "[]", stateWrite("b", 2, 7, "b3"), stateWrite("a", 1, 1, ""))
	if _, err := s.SaveStates(t.Context(), h, nil); !errors.Is(err, persistence.ErrFenced) {
		t.Error(err)
	}

	exec(t, suite.Server(t).DSN(), "UPDATE "+quoted(schema)+`.states SET deleted = true WHERE entity = '\x00'`)
	var found []string
	ids := []protocol.EntityID{"a", "\x00", "none", "b"}
	err := s.LoadStates(t.Context(), later, ids, func(i int, v persistence.State) error {
		found = append(found, fmt.Sprint(i, v.Revision, v.Deleted, string(v.Body), v.Tags))
		return nil
	})
	if !errors.Is(err, persistence.ErrDamaged) || !strings.Contains(err.Error(), `"\x00"`) {
		t.Error(err)
	}
	if want := []string{"0 2 true[]", "3 3 falseb3[t]"}; !slices.Equal(found, want) {
		t.Errorf("got %q, want %q", found, want)
	}
}
