use dumbbell_kernel::guest::*;
#[test]
fn boots() {
    let home = std::env::var("HOME").unwrap();
    let kernel = std::path::PathBuf::from(home).join(".cache/dumbbell/kernels/6.12.117-dev");
    let mut guest = Guest::start(&Start { kernel: &kernel, seed: 1, limit: std::time::Duration::from_secs(5) }).unwrap();
    println!("{:?}", guest.calendar());
    for _ in 0..2000 {
        if guest.calendar().request().is_none() { break; }
        guest.run().unwrap();
        while let Some((d, f)) = guest.poll_frame() { println!("{} {d} {f:02x?}", guest.calendar().now()); }
    }
    println!("{:?}", guest.calendar());
}
