use super::*;

struct Place {
    folder: tempfile::TempDir,
    synchroniser: Arc<Synchroniser>,
}

impl Place {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), synchroniser: Synchroniser::start().unwrap() }
    }

    fn blobs(&self) -> Blobs {
        Blobs::open(self.folder.path(), &self.synchroniser).unwrap()
    }
}

#[test]
fn the_same_content_is_kept_once_and_counted() {
    let place = Place::new();
    let blobs = place.blobs();
    let one = blobs.put("a", b"picture", Durability::Soon).unwrap();
    let two = blobs.put("a", b"picture", Durability::Now).unwrap();
    let three = blobs.put("b", b"picture", Durability::Soon).unwrap();
    assert_eq!((one, two), (two, three));
    assert_eq!(blobs.references(one).unwrap(), 3);
    assert_eq!(blobs.read(one).unwrap(), b"picture");
    assert_eq!(blobs.size(one), Some(7));
}

#[test]
fn content_that_comes_bit_by_bit_is_the_same_blob() {
    let blobs = Place::new();
    let blobs = blobs.blobs();
    let mut incoming = blobs.incoming().unwrap();
    incoming.write(b"pic").unwrap();
    incoming.write(b"ture").unwrap();
    assert_eq!(incoming.size(), 7);
    let digest = incoming.finish("a", Durability::Now).unwrap();
    assert_eq!(digest, Digest::of(b"picture"));
    let mut file = blobs.open_file(digest).unwrap();
    let mut content = String::new();
    io::Read::read_to_string(&mut file, &mut content).unwrap();
    assert_eq!(content, "picture");
}

#[test]
fn what_nothing_refers_to_is_collected_after_its_grace() {
    let place = Place::new();
    let blobs = place.blobs();
    let kept = blobs.put("a", b"kept", Durability::Soon).unwrap();
    let gone = blobs.put("a", b"gone", Durability::Soon).unwrap();
    blobs.refer("b", gone).unwrap();
    blobs.release("a", gone).unwrap();
    blobs.release("a", gone).unwrap();
    let now = SystemTime::now();
    let later = now + GRACE * 2;
    assert_eq!(blobs.collect(later, GRACE).unwrap().blobs, 0, "b still refers to it");
    blobs.release_all("b").unwrap();
    assert_eq!(blobs.collect(now, GRACE).unwrap().blobs, 0, "its grace is not over");
    assert_eq!(blobs.collect(later, GRACE).unwrap(), Collected { blobs: 1, bytes: 4 });
    assert!(matches!(blobs.read(gone), Err(Error::NoSuchBlob(_))));
    assert!(matches!(blobs.refer("a", gone), Err(Error::NoSuchBlob(_))));
    assert_eq!(blobs.read(kept).unwrap(), b"kept");
}

#[test]
fn what_a_crash_left_unfinished_is_collected() {
    let place = Place::new();
    let blobs = place.blobs();
    let mut incoming = blobs.incoming().unwrap();
    incoming.write(b"half").unwrap();
    // As after a kill: nobody removes the file.
    std::mem::forget(incoming);
    let unfinished = || entries(&place.folder.path().join("incoming")).unwrap().len();
    blobs.collect(SystemTime::now(), GRACE).unwrap();
    assert_eq!(unfinished(), 1);
    blobs.collect(SystemTime::now() + GRACE * 2, GRACE).unwrap();
    assert_eq!(unfinished(), 0);
}

#[test]
fn references_are_there_after_a_restart() {
    let place = Place::new();
    let digest = place.blobs().put("a", b"picture", Durability::Soon).unwrap();
    let blobs = place.blobs();
    assert_eq!(blobs.references(digest).unwrap(), 1);
}

#[test]
fn a_damaged_blob_is_reported_and_put_right_by_the_next_who_brings_it() {
    let place = Place::new();
    let blobs = place.blobs();
    let digest = blobs.put("a", b"picture", Durability::Soon).unwrap();
    fs::write(blobs.path_of(digest), "").unwrap();
    assert!(matches!(blobs.read(digest), Err(Error::Damaged { .. })));
    blobs.put("a", b"picture", Durability::Soon).unwrap();
    assert_eq!(blobs.read(digest).unwrap(), b"picture");
}

#[test]
fn threads_that_bring_the_same_content_do_not_disturb_each_other() {
    let place = Place::new();
    let blobs = place.blobs();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for number in 0..50_u32 {
                    blobs.put("a", &number.to_le_bytes(), Durability::Soon).unwrap();
                }
            });
        }
    });
    for number in 0..50_u32 {
        assert_eq!(blobs.references(Digest::of(&number.to_le_bytes())).unwrap(), 4);
    }
}
