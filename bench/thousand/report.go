package thousand

import (
	"time"

	"github.com/coterie-go/coterie/bench/measure"
	"github.com/coterie-go/coterie/ddata/membership/view"
)

// report prints what an act took.
func (w *world) report(name string, before tally, took time.Duration) {
	seconds := time.Duration(w.now - before.at).Seconds()
	w.reportWhole(name, before, seconds, took)
	w.reportParts(name, before, seconds)
	w.reportKinds(name, before, seconds)
}

// inCharge is the slot of the member in charge of the type.
func (w *world) inCharge() *slot {
	v := w.newest()
	if v == nil {
		return w.slots[0]
	}
	if m, ok := v.InCharge(view.Service{Role: role, Name: "sharding/Thousand"}); ok {
		if n := w.nodes[uint64(m.UID)]; n != nil {
			return n.slot
		}
	}
	return w.slots[0]
}

func (w *world) reportWhole(name string, before tally, seconds float64, took time.Duration) {
	nodes, first := float64(len(w.slots)), w.inCharge().index
	var all, most, ofFirst traffic
	var spent, spentMost time.Duration
	var spentFirst time.Duration
	for i, s := range w.slots {
		d := traffic{
			s.sent.messages - before.sent[i].messages, s.sent.bytes - before.sent[i].bytes,
			s.sent.received - before.sent[i].received,
		}
		all.messages, all.bytes = all.messages+d.messages, all.bytes+d.bytes
		most.messages, most.bytes = max(most.messages, d.messages), max(most.bytes, d.bytes)
		t := sumOf(s.spent) - sumOf(before.spent[i])
		spent += t
		spentMost = max(spentMost, t)
		if i == first {
			ofFirst, spentFirst = d, t
		}
	}
	var f measure.Figures
	f.Add("nodes", len(w.slots))
	f.Add("shards", w.set.Shards)
	f.Add("entities", w.set.Shards*entitiesPerShard)
	f.Add("virtual_seconds", seconds)
	f.Add("wall_seconds", took.Seconds())
	per := func(n int) float64 { return float64(n) / seconds }
	f.Add("messages_per_node_s", per(all.messages)/nodes)
	f.Add("messages_per_s_first", per(ofFirst.messages))
	f.Add("messages_per_s_most", per(most.messages))
	f.Add("received_per_s_first", per(ofFirst.received))
	f.Add("bytes_per_node_s", per(all.bytes)/nodes)
	f.Add("bytes_per_s_first", per(ofFirst.bytes))
	f.Add("bytes_per_s_most", per(most.bytes))
	micros := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 / seconds }
	f.Add("cpu_us_per_node_s", micros(spent)/nodes)
	f.Add("cpu_us_per_s_first", micros(spentFirst))
	f.Add("cpu_us_per_s_most", micros(spentMost))
	f.Add("cpu_ms_per_node", measure.Millis(spent)/nodes)
	f.Add("cpu_ms_first", measure.Millis(spentFirst))
	f.Add("heap_kb_per_node", float64(measure.HeapBytes())/1e3/nodes)
	f.Add("views", int(w.newest().Epoch))
	f.Add("moves", w.owners.moves)
	f.Add("without_owner_mean_ms", measure.Millis(w.owners.without/time.Duration(max(1, w.owners.moves))))
	f.Add("without_owner_max_ms", measure.Millis(w.owners.longest))
	least, mostShards := w.owners.loads()
	f.Add("shards_least", least)
	f.Add("shards_most", mostShards)
	measure.Report("thousand", name, f)
}

// reportParts prints where the time went.
func (w *world) reportParts(name string, before tally, seconds float64) {
	first := w.inCharge().index
	for p := playing + 1; p < parts; p++ {
		var sum, ofFirst, most time.Duration
		for i, s := range w.slots {
			d := s.spent[p] - before.spent[i][p]
			sum += d
			most = max(most, d)
			if i == first {
				ofFirst = d
			}
		}
		micros := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 / seconds }
		var f measure.Figures
		f.Add("cpu_us_per_node_s", micros(sum)/float64(len(w.slots)))
		f.Add("cpu_us_per_s_first", micros(ofFirst))
		f.Add("cpu_us_per_s_most", micros(most))
		f.Add("cpu_ms_per_node", measure.Millis(sum)/float64(len(w.slots)))
		f.Add("longest_step_ms", measure.Millis(w.meter.most[p].took))
		f.Add("by", w.meter.most[p].in)
		f.Add("steps_above_5ms", w.meter.slow[p])
		for _, in := range w.meter.heaviest(p) {
			s := w.meter.by[p][in]
			f.Add(in+"_n", s.steps)
			f.Add(in+"_mean_us", float64(s.took.Nanoseconds())/1e3/float64(s.steps))
		}
		measure.Report("thousand", name+"-"+partNames[p], f)
	}
}

// kindsMost is how many kinds of messages are told of.
const kindsMost = 6

// reportKinds prints what was sent most.
func (w *world) reportKinds(name string, before tally, seconds float64) {
	names, of := w.kindsByBytes(before)
	for _, k := range names[:min(kindsMost, len(names))] {
		var f measure.Figures
		nodes := float64(len(w.slots))
		f.Add("kind", k)
		f.Add("messages_per_node_s", float64(of[k].messages)/seconds/nodes)
		f.Add("bytes_per_node_s", float64(of[k].bytes)/seconds/nodes)
		measure.Report("thousand", name+"-sent", f)
	}
}
