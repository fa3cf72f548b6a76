//! Count the words of the input, and put out each with its count, the most frequent first.

const std = @import("std");
const zkvm = @import("sdk/zig/zkvm.zig");

pub const panic = zkvm.panic;
pub const std_options = zkvm.std_options;

const Entry = struct { word: []const u8, count: u32 };

fn before(_: void, left: Entry, right: Entry) bool {
    if (left.count != right.count) return left.count > right.count;
    return std.mem.lessThan(u8, left.word, right.word);
}

fn count_words(text: []const u8) !void {
    var counts: std.StringArrayHashMapUnmanaged(u32) = .empty;
    var words = std.mem.tokenizeAny(u8, text, " \t\r\n");
    while (words.next()) |word| {
        const entry = try counts.getOrPutValue(zkvm.allocator, word, 0);
        entry.value_ptr.* += 1;
    }

    var entries: std.ArrayList(Entry) = .empty;
    try entries.ensureTotalCapacity(zkvm.allocator, counts.count());
    for (counts.keys(), counts.values()) |word, count|
        entries.appendAssumeCapacity(.{ .word = word, .count = count });
    std.mem.sort(Entry, entries.items, {}, before);

    std.log.info("{d} words, {d} of them different", .{ total(entries.items), entries.items.len });
    var line: std.ArrayList(u8) = .empty;
    for (entries.items) |entry| {
        line.clearRetainingCapacity();
        try line.print(zkvm.allocator, "{d} {s}\n", .{ entry.count, entry.word });
        zkvm.output(line.items);
    }
}

fn total(entries: []const Entry) u32 {
    var sum: u32 = 0;
    for (entries) |entry| sum += entry.count;
    return sum;
}

pub export fn main() c_int {
    count_words(zkvm.input()) catch |reason| std.debug.panic("{t}", .{reason});
    return 0;
}
