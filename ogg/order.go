package ogg

import "fmt"

// lateWithin is within how many bytes a page is compared with those before it.
const lateWithin = maxPage

// order tells pages that stand again, or too late, from those that follow, by
// their numbers.
type order struct {
	last map[uint32]lastPage // of each stream
}

// lastPage is the last page of a stream that was not passed over.
type lastPage struct {
	end     int64
	seq     uint32
	granule int64 // the last that was known
}

// expect sets the number of a stream's page before those to come.
func (o *order) expect(serial, seq uint32) {
	o.set(serial, lastPage{seq: seq, granule: noGranule})
}

func (o *order) set(serial uint32, p lastPage) {
	if o.last == nil {
		o.last = map[uint32]lastPage{}
	}
	o.last[serial] = p
}

// next takes a page. Late says that it has to be passed over; missing is how many
// pages of its stream are not there before it. Where granule positions go on
// although numbers do not, the numbers are wrong.
func (o *order) next(p *page) (missing uint32, late bool) {
	last, seen := o.last[p.serial]
	now := lastPage{p.end(), p.seq, p.granule}
	if !seen {
		o.set(p.serial, now)
		return 0, false
	}
	ahead := int32(p.seq - last.seq)
	goesOn := last.granule != noGranule && p.granule > last.granule
	if ahead <= 0 && !goesOn && p.off-last.end <= lateWithin {
		return 0, true
	}
	if now.granule == noGranule {
		now.granule = last.granule
	}
	o.set(p.serial, now)
	return uint32(max(0, ahead-1)), false
}

// missing returns how many pages of a stream are not there before one of the
// given number.
func (o *order) missing(serial, seq uint32) uint32 {
	last, seen := o.last[serial]
	if !seen {
		return 0
	}
	return uint32(max(0, int32(seq-last.seq)-1))
}

func lateReason(p *page) string {
	return fmt.Sprintf("page %d of stream %d stands again, or too late", p.seq, p.serial)
}

func missingReason(serial, pages uint32) string {
	if pages == 1 {
		return fmt.Sprintf("a page of stream %d is missing here", serial)
	}
	return fmt.Sprintf("%d pages of stream %d are missing here", pages, serial)
}
