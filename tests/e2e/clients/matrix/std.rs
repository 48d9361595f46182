use std::io::{BufRead, BufReader, Error, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

fn get(kept: &mut Option<BufReader<TcpStream>>, host: &str, i: u32, timeout: Duration) -> Result<String, Error> {
    if kept.is_none() {
        let stream = TcpStream::connect(host)?;
        stream.set_read_timeout(Some(timeout))?;
        *kept = Some(BufReader::new(stream));
    }
    let stream = kept.as_mut().unwrap();
    write!(stream.get_mut(), "GET /{} HTTP/1.1\r\nHost: {}\r\n\r\n", i, host)?;
    let (mut status, mut line, mut length) = (String::new(), String::new(), 0);
    while line != "\r\n" {
        line.clear();
        if stream.read_line(&mut line)? == 0 {
            return Err(Error::from(ErrorKind::ConnectionReset));
        }
        if status.is_empty() {
            status = line.split(' ').nth(1).unwrap_or("").to_string();
        }
        if let Some(value) = line.to_lowercase().strip_prefix("content-length: ") {
            length = value.trim().parse().unwrap_or(0);
        }
    }
    stream.read_exact(&mut vec![0; length])?;
    Ok(status)
}

fn main() {
    let argv: Vec<String> = std::env::args().collect();
    let host = argv[1].trim_start_matches("http://").trim_end_matches('/');
    let timeout = Duration::from_secs_f64(argv[3].parse().unwrap());
    let mut kept = None;
    for i in 0..argv[2].parse().unwrap() {
        match get(&mut kept, host, i, timeout) {
            Ok(status) => println!("{}", status),
            Err(error) => {
                kept = None;
                // A read that times out says EAGAIN, which Rust puts in words of its own.
                println!("{}", if error.kind() == ErrorKind::WouldBlock { "timed out".into() } else { error.to_string() });
            }
        }
    }
}
