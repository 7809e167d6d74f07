use std::time::Instant;

use super::segment::{MAGIC, RECORD, SIZE};
use super::*;

struct Place {
    folder: tempfile::TempDir,
    synchroniser: Arc<Synchroniser>,
}

impl Place {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), synchroniser: Synchroniser::start().unwrap() }
    }

    fn logs(&self) -> Logs {
        self.logs_with(Limits::default())
    }

    fn logs_with(&self, limits: Limits) -> Logs {
        Logs::open(self.folder.path(), limits, &self.synchroniser).unwrap()
    }

    fn segments(&self, execution: &str) -> Vec<PathBuf> {
        let segments = segment::list(&self.folder.path().join(execution)).unwrap();
        segments.into_iter().map(|segment| segment.path).collect()
    }
}

fn append(writer: &mut Writer, payload: &[u8]) -> Appended {
    writer.append(7, false, Priority::Ordinary, payload).unwrap()
}

fn payloads(reader: &mut Reader) -> Vec<Bytes> {
    let mut payloads = Vec::new();
    loop {
        let records = reader.read(1 << 20).unwrap();
        if records.is_empty() {
            return payloads;
        }
        payloads.extend(records.into_iter().map(|record| record.payload));
    }
}

#[test]
fn records_come_back_as_they_were_appended() {
    let place = Place::new();
    let logs = place.logs();
    let mut writer = logs.writer("run").unwrap();
    writer.append(1_700_000_000_000_000, false, Priority::Ordinary, b"early").unwrap();
    writer.append(-5, true, Priority::Ordinary, b"").unwrap();
    let records = logs.reader("run", Position(0)).unwrap().read(1000).unwrap();
    assert_eq!((records[0].time, records[0].is_late), (1_700_000_000_000_000, false));
    assert_eq!(records[0].payload, "early");
    assert_eq!((records[1].time, records[1].is_late, records[1].payload.len()), (-5, true, 0));
    assert_eq!(records[0].next, records[1].position);
    assert_eq!(records[1].next, writer.end());
}

#[test]
fn a_reader_begins_at_any_record_and_goes_back() {
    let place = Place::new();
    let logs = place.logs();
    let mut writer = logs.writer("run").unwrap();
    append(&mut writer, b"one");
    let Appended::Kept(second) = append(&mut writer, b"two") else { panic!() };
    let mut reader = logs.reader("run", second).unwrap();
    assert_eq!(payloads(&mut reader), ["two"]);
    append(&mut writer, b"three");
    assert_eq!(payloads(&mut reader), ["three"]);
    reader.seek(Position(0));
    assert_eq!(payloads(&mut reader), ["one", "two", "three"]);
}

#[test]
fn a_log_of_many_segments_and_huge_records_is_read_through() {
    let place = Place::new();
    let logs = place.logs();
    let mut writer = logs.writer("run").unwrap();
    let huge = vec![b'h'; 50_000_000];
    let mut expected = 0;
    for round in 0..4_u8 {
        append(&mut writer, &huge);
        append(&mut writer, &[round; 10]);
        expected += 2;
    }
    assert_eq!(place.segments("run").len(), 3);
    let mut reader = logs.reader("run", Position(0)).unwrap();
    let payloads = payloads(&mut reader);
    assert_eq!(payloads.len(), expected);
    assert!(payloads.iter().step_by(2).all(|payload| payload == &huge));
    assert_eq!(payloads[7], [3; 10].as_slice());
    assert_eq!(reader.position(), writer.end());
    drop(writer);
    // And the same after a restart, by somebody who knows nothing of the writer.
    let mut reader = place.logs().reader("run", Position(0)).unwrap();
    assert_eq!(super::tests::payloads(&mut reader).len(), expected);
}

#[tokio::test]
async fn a_reader_follows_until_the_writer_is_gone() {
    let place = Place::new();
    let logs = place.logs();
    let mut writer = logs.writer("run").unwrap();
    let mut reader = logs.reader("run", Position(0)).unwrap();
    let follower = tokio::spawn(async move {
        let mut seen = 0_u32;
        while reader.wait().await {
            for record in reader.read(100_000).unwrap() {
                assert_eq!(record.payload, seen.to_le_bytes().as_slice());
                seen += 1;
            }
        }
        seen
    });
    for number in 0..5000_u32 {
        append(&mut writer, &number.to_le_bytes());
        if number % 100 == 0 {
            tokio::task::yield_now().await;
        }
    }
    drop(writer);
    assert_eq!(follower.await.unwrap(), 5000);
    // Who comes later has it all at once, and waits for nothing.
    let mut late = logs.reader("run", Position(0)).unwrap();
    assert!(late.wait().await);
    assert_eq!(payloads(&mut late).len(), 5000);
    assert!(!late.wait().await);
}

#[test]
fn many_readers_see_the_same_while_it_is_written() {
    let place = Place::new();
    let logs = place.logs();
    let mut writer = logs.writer("run").unwrap();
    let readers: Vec<_> = (0..4)
        .map(|_| {
            let mut reader = logs.reader("run", Position(0)).unwrap();
            std::thread::spawn(move || {
                let mut seen = 0_u64;
                while seen < 20_000 {
                    for record in reader.read(4096).unwrap() {
                        assert_eq!(record.payload[..8], seen.to_le_bytes());
                        seen += 1;
                    }
                }
            })
        })
        .collect();
    for number in 0..20_000_u64 {
        let mut payload = number.to_le_bytes().to_vec();
        payload.resize(8 + usize::try_from(number % 500).unwrap(), 0);
        append(&mut writer, &payload);
    }
    for reader in readers {
        reader.join().unwrap();
    }
}

#[test]
fn past_its_limit_an_execution_keeps_only_what_matters_and_says_so() {
    let place = Place::new();
    let logs = place.logs_with(Limits { execution: 1000, ..Limits::default() });
    let mut writer = logs.writer("run").unwrap();
    assert!(matches!(append(&mut writer, &[0; 900]), Appended::Kept(_)));
    assert_eq!(append(&mut writer, &[0; 900]), Appended::NotKept(Refusal::ExecutionLimit));
    assert_eq!(writer.refused_bytes(), 900);
    let end = writer.append(1, false, Priority::Essential, &[1; 900]).unwrap();
    assert!(matches!(end, Appended::Kept(_)));
    writer.raise_limit(10_000);
    assert!(matches!(append(&mut writer, &[2; 900]), Appended::Kept(_)));
    assert_eq!(payloads(&mut logs.reader("run", Position(0)).unwrap()).len(), 3);
}

#[test]
fn the_limit_of_all_counts_what_lies_there_already() {
    let place = Place::new();
    append(&mut place.logs().writer("old").unwrap(), &[0; 5000]);
    let logs = place.logs_with(Limits { total: 6000, ..Limits::default() });
    logs.collect(SystemTime::now(), &HashSet::new()).unwrap();
    let mut writer = logs.writer("new").unwrap();
    assert!(matches!(append(&mut writer, &[0; 500]), Appended::Kept(_)));
    assert_eq!(append(&mut writer, &[0; 500]), Appended::NotKept(Refusal::TotalLimit));
    logs.remove("old").unwrap();
    assert!(matches!(append(&mut writer, &[0; 500]), Appended::Kept(_)));
    let again = place.logs();
    again.collect(SystemTime::now(), &HashSet::new()).unwrap();
    assert_eq!(logs.total_bytes(), again.total_bytes());
}

#[test]
fn collection_removes_the_old_and_then_the_oldest_but_nothing_that_is_wanted() {
    let place = Place::new();
    let logs = place.logs_with(Limits { total: 25_000, ..Limits::default() });
    for name in ["a", "b", "c"] {
        append(&mut logs.writer(name).unwrap(), &[0; 8000]);
        std::thread::sleep(Duration::from_millis(20));
    }
    let mut open = logs.writer("open").unwrap();
    let now = SystemTime::now();
    assert_eq!(logs.collect(now, &HashSet::new()).unwrap(), Collected::default());
    // Of a smaller total, the oldest goes; what somebody wants stays.
    let smaller = Logs { limits: Limits { total: 20_000, ..logs.limits }, ..place.logs() };
    assert_eq!(smaller.collect(now, &HashSet::from(["a".into()])).unwrap().executions, 1);
    assert!(logs.contains("a") && !logs.contains("b") && logs.contains("c"));
    let later = now + Duration::from_hours(31 * 24);
    assert_eq!(logs.collect(later, &HashSet::new()).unwrap().executions, 2);
    assert!(!logs.contains("c") && logs.contains("open"));
    append(&mut open, b"goes on");
}

#[test]
fn only_one_can_write_a_log() {
    let place = Place::new();
    let logs = place.logs();
    let writer = logs.writer("run").unwrap();
    assert!(matches!(logs.writer("run"), Err(Error::InUse { .. })));
    drop(writer);
    logs.writer("run").unwrap();
}

#[test]
fn an_id_that_is_a_path_is_refused() {
    let logs = Place::new().logs();
    for id in ["", "..", "a/b", "a.b", "ä", &"x".repeat(129)] {
        assert!(matches!(logs.writer(id), Err(Error::InvalidId(_))), "{id}");
        assert!(matches!(logs.remove(id), Err(Error::InvalidId(_))), "{id}");
    }
}

#[test]
fn a_log_that_is_not_there_is_an_error() {
    let place = Place::new();
    assert!(place.logs().reader("none", Position(0)).is_err());
}

#[test]
fn a_log_cut_at_any_byte_gives_the_whole_records_before_it_and_goes_on() {
    let place = Place::new();
    let mut ends = Vec::new();
    {
        let mut writer = place.logs().writer("run").unwrap();
        for size in 0..5 {
            append(&mut writer, &vec![b'x'; size * 4]);
            ends.push(writer.end().0 + MAGIC.len() as u64);
        }
    }
    let path = place.segments("run").remove(0);
    let whole = fs::read(&path).unwrap();
    for length in 0..=whole.len() {
        fs::write(&path, &whole[..length]).unwrap();
        let logs = place.logs();
        let kept = ends.iter().filter(|end| **end <= length as u64).count();
        assert_eq!(payloads(&mut logs.reader("run", Position(0)).unwrap()).len(), kept, "cut at {length}");
        let mut writer = logs.writer("run").unwrap();
        append(&mut writer, b"after");
        let payloads = payloads(&mut logs.reader("run", Position(0)).unwrap());
        assert_eq!((payloads.len(), payloads[kept].as_ref()), (kept + 1, b"after".as_slice()));
    }
}

#[test]
fn damage_in_the_middle_is_reported_and_what_follows_is_read() {
    let place = Place::new();
    {
        let mut writer = place.logs().writer("run").unwrap();
        append(&mut writer, b"first");
        append(&mut writer, &vec![0; usize::try_from(SIZE).unwrap()]);
        append(&mut writer, b"last");
    }
    let path = place.segments("run").remove(0);
    let mut bytes = fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&path, bytes).unwrap();
    let mut reader = place.logs().reader("run", Position(0)).unwrap();
    assert_eq!(reader.read(1).unwrap()[0].payload, "first");
    assert!(matches!(reader.read(1), Err(Error::Damaged { .. })));
    assert_eq!(payloads(&mut reader), ["last"]);
}

#[test]
fn a_newer_format_is_refused_and_not_touched() {
    let place = Place::new();
    drop(place.logs().writer("run").unwrap());
    let path = place.segments("run").remove(0);
    fs::write(&path, b"SBXLOG\x00\x02 something new").unwrap();
    assert!(matches!(place.logs().writer("run"), Err(Error::Newer { .. })));
    let mut reader = place.logs().reader("run", Position(0)).unwrap();
    assert!(matches!(reader.read(1), Err(Error::Newer { .. })));
    assert_eq!(fs::read(&path).unwrap(), b"SBXLOG\x00\x02 something new");
}

#[test]
fn throughput_is_far_above_what_a_kernel_prints() {
    let place = Place::new();
    let logs = place.logs();
    let mut writer = logs.writer("large").unwrap();
    let started = Instant::now();
    let chunk = vec![b'x'; 1 << 20];
    for _ in 0..200 {
        append(&mut writer, &chunk);
    }
    let large = started.elapsed();
    let mut writer = logs.writer("small").unwrap();
    let started = Instant::now();
    for _ in 0..100_000 {
        append(&mut writer, b"a line of thirty bytes or so..");
    }
    let small = started.elapsed();
    println!("200 MB: {large:?}; 100,000 appends: {small:?}");
    assert_eq!(writer.end().0, 100_000 * (RECORD as u64 + 30));
    // Ten times what an unoptimised build takes, for a busy machine.
    assert!(large < Duration::from_secs(20) && small < Duration::from_secs(20), "{large:?} {small:?}");
}
