package fragment

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestParseTime(t *testing.T) {
	for _, c := range []struct {
		text string
		want Time
	}{
		{"0", Seconds(0)},
		{"10", Seconds(10)},
		{"007", Seconds(7)},
		{"10.", Seconds(10)},
		{"10.50", Ticks(21, 2)},
		{"0.1", Ticks(1, 10)},
		{"61.029", Ticks(61029, 1000)},
		{"01:01.029", Ticks(61029, 1000)},
		{"0:01:01.029", Ticks(61029, 1000)},
		{"00:00", Seconds(0)},
		{"59:59", Seconds(3599)},
		{"01:30.", Seconds(90)},
		{"0:00:00", Seconds(0)},
		{"1:00:00", Seconds(3600)},
		{"9:59:59", Seconds(35999)},
		{"00010:07:05", Seconds(36425)},
		{"99:59:59.999", Ticks(359999999, 1000)},
		{"2562047788015215:30:07", Seconds(1<<63 - 1)},
		{"2562047788015215:30:08", Seconds(1<<63 - 1).Add(Seconds(1))},
		{"0.000000000000000000001", FromSeconds(1e-21)},
	} {
		got, err := ParseTime(c.text)
		if err != nil || !got.Equal(c.want) {
			t.Errorf("ParseTime(%s) = %v, %v, want %v", c.text, got, err, c.want)
		}
	}
}

func TestParseTimeError(t *testing.T) {
	for text, want := range map[string]string{
		"":      "fragment: a time is missing",
		"npt:3": `fragment: "npt:3" is not a time: npt: stands once, before both times, as in npt:10,20`,
		"1,2":   `fragment: "1,2" is not a time: only the digits 0 to 9, ':' and '.' stand in one, as in 61.5 or 01:01.5`,
		"1:00":  `fragment: "1:00" is not a time: minutes and seconds have two digits each, as in 03:07`,
	} {
		got, err := ParseTime(text)
		if err == nil || err.Error() != want || got.Sign() != 0 {
			t.Errorf("ParseTime(%q) = %v, %v, want %s", text, got, err, want)
		}
	}
}

// TestStartOmitted checks that "t=,20" and "t=0,20" mean the same and are told
// apart all the same.
func TestStartOmitted(t *testing.T) {
	for text, want := range map[string]TimeRange{
		"t=,20":     {NPT, Between(Seconds(0), Seconds(20)), true},
		"t=npt:,20": {NPT, Between(Seconds(0), Seconds(20)), true},
		"t=0,20":    {NPT, Between(Seconds(0), Seconds(20)), false},
		"t=0":       {NPT, From(Seconds(0)), false},
	} {
		if d := cmp.Diff(&want, Parse(text).Time); d != "" {
			t.Errorf("%s (-want +got):\n%s", text, d)
		}
	}
}

// TestLimits checks times on both sides of maxDigits: exact up to it, beyond it
// still valid, ordered and written back.
func TestLimits(t *testing.T) {
	nines := strings.Repeat("9", maxDigits)
	zeros := strings.Repeat("0", maxDigits)
	most := "1" + zeros      // 10^maxDigits
	least := zeros[1:] + "1" // behind a point: 10^-maxDigits
	for _, c := range []struct{ text, want string }{
		{"t=" + nines, "t=" + nines},
		{"t=0." + nines, "t=0." + nines},
		{"t=" + nines + "." + nines, "t=" + nines + "." + nines},
		{"t=" + zeros + "7." + "5" + zeros, "t=7.5"},
		{"t=" + most, "t=" + most},
		{"t=" + nines + "9", "t=" + most},
		{"t=" + nines + "9.5", "t=" + most},
		{"t=" + nines + ":59:59", "t=" + most},
		{"t=0." + nines + "9", "t=0." + nines},
		{"t=5," + nines + "9", "t=5," + most},
		// Bounds that differ only beyond the limits.
		{"t=" + most + "1," + most + "2", "t=" + most + "," + most + "." + least},
		{"t=0," + "0." + zeros + "1", "t=0,0." + least},
		{"t=0." + zeros + "1,0." + zeros + "2", "t=0,0." + least},
		{"t=" + most + "00," + most + "000", "t=" + most + "," + most + "." + least},
		{"t=9" + most + "," + most + "00", "t=" + most + "," + most + "." + least},
		// Their order counts there as anywhere.
		{"t=" + most + "00," + most + "0", ""},
		{"t=" + most + "00,9" + most, ""},
		{"t=" + most + "2," + most + "1", ""},
		{"t=" + most + "1," + most + "1", ""},
		{"t=" + most + "," + nines, ""},
		{"t=0." + zeros + "2,0." + zeros + "1", ""},
		{"t=0." + zeros + "1,0." + zeros + "10", ""},
		{"t=" + most + ":00:01," + most + ":00:00", ""},
	} {
		f := Parse(c.text)
		if got := f.String(); got != c.want {
			t.Errorf("%s\nis written as %s,\nwant %s", c.text, got, c.want)
		}
		checkCanonical(t, f)
	}
}

// TestHugeInput checks that megabytes of anything cost time in proportion. The
// limit is generous: what grows with the square takes minutes here.
func TestHugeInput(t *testing.T) {
	const size, limit = 4 << 20, 20 * time.Second
	digits := strings.Repeat("7", size)
	for name, text := range map[string]string{
		"seconds":     "t=" + digits,
		"fraction":    "t=0." + digits,
		"hours":       "t=" + digits + ":00:00",
		"interval":    "t=" + digits + "," + digits + "8",
		"zeros":       "t=" + strings.Repeat("0", size) + "." + strings.Repeat("0", size),
		"colons":      "t=" + strings.Repeat(":", size),
		"commas":      "t=" + strings.Repeat(",", size),
		"ampersands":  strings.Repeat("&", size/4),
		"percent":     "t=" + strings.Repeat("%31", size/2),
		"bad percent": strings.Repeat("%", size),
		"repeats":     strings.Repeat("t=1&", size/16),
		"long ones":   strings.Repeat("t="+digits[:1000]+"."+digits[:1000]+"&", size/2000),
		"name":        digits,
		"letters":     "t=" + strings.Repeat("x", size),
	} {
		t.Run(name, func(t *testing.T) {
			began := time.Now()
			f := Parse(text)
			written := f.String()
			if took := time.Since(began); took > limit {
				t.Errorf("took %v", took)
			}
			if len(written) > 5*maxDigits {
				t.Errorf("wrote %d octets", len(written))
			}
			for _, w := range f.Warnings {
				if len(w.Reason) > 300 {
					t.Errorf("a reason of %d octets", len(w.Reason))
				}
			}
		})
	}
}
