//! Measures how long it takes to say what 100 pasted links are.
//!
//! `parse_links N` prints one JSON object with N times for all 100, in milliseconds.

use std::time::Instant;

use sandbook_runtimes::paste::parse_pasted;

/// The kinds of links that people paste; the number makes each of them another one.
fn link(number: usize) -> String {
    let kernel = format!("5f2b7c1e-9a52-4d3b-8f11-{number:012}");
    match number % 5 {
        0 => format!("http://127.0.0.1:88{number:02}/lab/tree/work/{number}.ipynb?token=secret-{number}"),
        1 => format!(
            "wss://8080-gpu-t4-s-{number}.us-west1-0.prod.colab.dev/api/kernels/{kernel}/channels?session_id={number}&colab-runtime-proxy-token=ey.secret.{number}"
        ),
        2 => format!(
            "wss://kkb-production.jupyter-proxy.kaggle.net/k/{number}/eyJhbGciOiJkaXIi.secret.{number}/proxy/api/kernels/{kernel}/channels?session_id={number}"
        ),
        3 => format!("hub.example.org/user/person{number}/notebooks/a.ipynb?token=secret-{number}"),
        _ => format!("registry.example.org/team/image:{number}"),
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rounds: usize = std::env::args().nth(1).ok_or("usage: parse_links N")?.parse()?;
    let links: Vec<String> = (0..100).map(link).collect();
    let mut times = Vec::with_capacity(rounds);
    for _ in 0..rounds {
        let began = Instant::now();
        for link in &links {
            parse_pasted(link).map_err(|error| error.message)?;
        }
        times.push(began.elapsed().as_secs_f64() * 1000.0);
    }
    println!("{}", serde_json::json!({ "times_ms": times }));
    Ok(())
}
