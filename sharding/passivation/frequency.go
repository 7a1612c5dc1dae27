package passivation

import "math"

// frequency is the order of priority, among equals that of use: a heap whose root goes first. The
// priority of an entity is the number of its accesses plus what the age was at the last of them.
// Without ageing the age stays 0.
type frequency struct {
	heap  []Slot
	uses  []use // by slot
	clock uint64
	ages  bool
	age   uint64 // the priority of the last that went
}

type use struct {
	priority uint64
	stamp    uint64 // of the last access; no two are equal
	count    uint32
	at       uint32 // in the heap
}

func (f *frequency) insert(s Slot) {
	for int(s) >= len(f.uses) {
		f.uses = append(f.uses, use{})
	}
	f.uses[s] = use{at: uint32(len(f.heap))}
	f.heap = append(f.heap, s)
	f.count(s)
	f.up(len(f.heap) - 1)
}

func (f *frequency) touch(s Slot) {
	f.count(s)
	f.down(int(f.uses[s].at))
}

func (f *frequency) count(s Slot) {
	u := &f.uses[s]
	if u.count < math.MaxUint32 {
		u.count++
	}
	f.clock++
	u.priority, u.stamp = uint64(u.count)+f.age, f.clock
}

func (f *frequency) remove(s Slot) {
	i, last := int(f.uses[s].at), len(f.heap)-1
	f.swap(i, last)
	f.heap = f.heap[:last]
	if i < last {
		f.down(i)
		f.up(i)
	}
}

func (f *frequency) first() Slot {
	if len(f.heap) == 0 {
		return 0
	}
	return f.heap[0]
}

func (f *frequency) pop() Slot {
	s := f.first()
	if s == 0 {
		return 0
	}
	if f.ages {
		f.age = f.uses[s].priority
	}
	f.remove(s)
	return s
}

func (f *frequency) resize(int) {}

func (f *frequency) less(i, j int) bool {
	a, b := &f.uses[f.heap[i]], &f.uses[f.heap[j]]
	return a.priority < b.priority || a.priority == b.priority && a.stamp < b.stamp
}

func (f *frequency) swap(i, j int) {
	f.heap[i], f.heap[j] = f.heap[j], f.heap[i]
	f.uses[f.heap[i]].at, f.uses[f.heap[j]].at = uint32(i), uint32(j)
}

func (f *frequency) up(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if !f.less(i, parent) {
			return
		}
		f.swap(i, parent)
		i = parent
	}
}

func (f *frequency) down(i int) {
	for {
		child := 2*i + 1
		if child >= len(f.heap) {
			return
		}
		if child+1 < len(f.heap) && f.less(child+1, child) {
			child++
		}
		if !f.less(child, i) {
			return
		}
		f.swap(i, child)
		i = child
	}
}
