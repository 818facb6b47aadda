package seek

import "testing"

// What a Search remembers has a bound, whatever it is shown.
func TestMemoryIsBounded(t *testing.T) {
	const batch = 5000
	s := &Search{End: 1 << 40, Recognize: func(off int64, data []byte) (marks []Mark, next int64) {
		for i := range int64(batch) {
			marks = append(marks, Mark{Offset: off + i, Tick: off + i})
		}
		return marks, off + batch
	}}
	for i := range int64(100) {
		s.Scan(i*1e6, make([]byte, batch))
		if n := s.known.count(); n > maxMarks {
			t.Fatalf("%d marks after %d scans, want at most %d", n, i+1, maxMarks)
		}
	}
	if n := len(s.known.runs); n > maxRuns {
		t.Errorf("%d rates are remembered, want at most %d", n, maxRuns)
	}
}
