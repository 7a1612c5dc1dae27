package ddata_test

import (
	"fmt"
	"testing"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata"
)

var files = ddata.NewKey[crdt.LWWMap[int, []byte]]("files")

// An update of 30 MB goes to each peer once, and what is written meanwhile is acknowledged. The
// counters tell so, also after the end.
func TestSmallWritesBesideLargeUpdate(t *testing.T) {
	nodes := startCluster(t, 3, nil)
	ctx := within(t, 6*limit) // 30 MB to each of two nodes, on a machine that may be busy
	large := make(chan error, 1)
	go func() {
		large <- ddata.Update(ctx, replica(t, nodes[0]), files, ddata.WriteAll,
			func(tx *crdt.LWWMapTx[int, []byte]) error {
				for i := range 30 {
					if err := tx.Put(i, make([]byte, 1_000_000)); err != nil {
						return err
					}
				}
				return nil
			})
	}()
	for i := range 50 {
		err := ddata.Update(ctx, replica(t, nodes[1]), names, ddata.WriteMajority,
			func(tx *crdt.ORSetTx[string]) error { return tx.Add(fmt.Sprint(i)) })
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := <-large; err != nil {
		t.Fatal(err)
	}
	for _, n := range nodes[1:] {
		r := replica(t, n)
		if st := r.Stats(); st.Applied == 0 || st.Malformed > 0 || st.FlowsDropped > 0 || st.RepairAlarms > 0 {
			t.Errorf("node %v: %+v", n.UID(), st)
		}
		if err := n.Close(); err != nil {
			t.Fatal(err)
		}
		if st := r.Stats(); st.Applied == 0 {
			t.Errorf("after the end: %+v", st)
		}
	}
}
