//! The use of threads, sockets and other programs.

use super::Fake;

impl Fake {
    /// Sets for how many milliseconds a thread of the server ran, and waited for a CPU.
    pub(crate) fn ran(&self, thread: u32, ran: u64, waited: u64) {
        let times = format!("{} {} 1\n", ran * 1_000_000, waited * 1_000_000);
        self.write(&format!("proc/100/task/{thread}/schedstat"), &times);
    }

    /// Sets how often a thread of the server was woken, which may use all CPUs.
    pub(crate) fn thread_woken(&self, thread: u32, times: u64) {
        let status = format!("Cpus_allowed_list:\t0-3\nvoluntary_ctxt_switches:\t{times}\n");
        self.write(&format!("proc/100/task/{thread}/status"), &status);
    }

    /// Sets how often a thread of the server moved to another CPU.
    pub(crate) fn moved(&self, thread: u32, times: u64) {
        let text = format!("server (1, #threads: 1)\nse.nr_migrations   :   {times}\n");
        self.write(&format!("proc/100/task/{thread}/sched"), &text);
    }

    /// Sets what the server's four threads were seen doing: asleep in this call, this many times of 40.
    pub(crate) fn watched(&self, call: &str, times: u32) {
        let running = 40 - times;
        let lines =
            (100..104).map(|thread| format!("{thread} 100 40 {running} 0 0 {call}={times}\n"));
        self.write("velodrome/threads/100", &lines.collect::<String>());
    }

    /// Sets the server's TCP sockets, besides a listener.
    pub(crate) fn connections(&self, lines: &str) {
        let listener = "listens 10 80 0.0.0.0/0 send_queue=4096\n";
        self.write("velodrome/tcp/100", &format!("{listener}{lines}"));
    }

    /// Sets for how many microseconds programs have waited for a resource.
    pub(crate) fn waited(&self, name: &str, us: u64) {
        let text = format!("some avg10=0.10 avg60=0.00 avg300=0.00 total={us}\n");
        self.write(&format!("proc/pressure/{name}"), &text);
    }

    /// Sets counters of the network layers, such as `Tcp.PassiveOpens`.
    pub(crate) fn snmp(&self, counts: &[(&str, u64)]) {
        let line = |(name, count): &(&str, u64)| {
            let (section, name) = name.split_once('.').unwrap();
            format!("{section}: {name}\n{section}: {count}\n")
        };
        self.write("proc/net/snmp", &counts.iter().map(line).collect::<String>());
    }

    /// Another program, on this CPU, has used so many ticks.
    pub(crate) fn beside(&self, process: u32, cpu: u32, ticks: u64) {
        let zeros = |count: usize| vec!["0"; count].join(" ");
        let stat = format!("{process} (name) S 1 {} {ticks} {} {cpu} 0 0", zeros(9), zeros(24));
        self.write(&format!("proc/{process}/stat"), &stat);
    }
}
