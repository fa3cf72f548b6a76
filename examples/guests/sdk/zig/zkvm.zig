//! What a guest in Zig can use of the machine: input, output, the debug channel, an allocator, and all functions of the
//! kit's C headers as `zkvm.c`.

const std = @import("std");

pub const c = @cImport(@cInclude("zkvm.h"));

/// Return the input in place, the same bytes at every call.
pub fn input() []const u8 {
    var bytes: [*c]const u8 = undefined;
    var size: usize = undefined;
    c.read_input(&bytes, &size);
    return bytes[0..size];
}

/// Append to the public output.
pub fn output(bytes: []const u8) void {
    c.write_output(bytes.ptr, bytes.len);
}

/// Print to the debug channel: the host's standard error, no part of what a proof states.
pub fn print(comptime format: []const u8, arguments: anytype) void {
    var buffer: [256]u8 = undefined;
    var writer: std.Io.Writer = .{ .vtable = &.{ .drain = drain }, .buffer = &buffer };
    writer.print(format, arguments) catch unreachable; // drain never fails
    writer.flush() catch unreachable;
}

fn drain(writer: *std.Io.Writer, data: []const []const u8, splat: usize) std.Io.Writer.Error!usize {
    const buffered = writer.buffered();
    c.zkvm_print(buffered.ptr, buffered.len);
    writer.end = 0;
    var consumed: usize = 0;
    for (data, 1..) |bytes, count| {
        for (0..if (count == data.len) splat else 1) |_| {
            c.zkvm_print(bytes.ptr, bytes.len);
            consumed += bytes.len;
        }
    }
    return consumed;
}

/// An allocator for the memory between `_heap_start` and `_heap_end`. It frees and grows the last allocation only; put
/// `std.heap.ArenaAllocator` or a pool on top of it for more.
pub const allocator: std.mem.Allocator = .{
    .ptr = undefined,
    .vtable = &.{ .alloc = alloc, .resize = resize, .remap = remap, .free = free },
};

extern var _heap_start: u8;
extern var _heap_end: u8;
var heap: ?std.heap.FixedBufferAllocator = null;

fn ofHeap() std.mem.Allocator {
    if (heap == null) {
        const start: [*]u8 = @ptrCast(&_heap_start);
        heap = .init(start[0 .. @intFromPtr(&_heap_end) - @intFromPtr(start)]);
    }
    return heap.?.allocator();
}

fn alloc(_: *anyopaque, size: usize, alignment: std.mem.Alignment, place: usize) ?[*]u8 {
    return ofHeap().rawAlloc(size, alignment, place);
}

fn resize(_: *anyopaque, memory: []u8, alignment: std.mem.Alignment, size: usize, place: usize) bool {
    return ofHeap().rawResize(memory, alignment, size, place);
}

fn remap(_: *anyopaque, memory: []u8, alignment: std.mem.Alignment, size: usize, place: usize) ?[*]u8 {
    return ofHeap().rawRemap(memory, alignment, size, place);
}

fn free(_: *anyopaque, memory: []u8, alignment: std.mem.Alignment, place: usize) void {
    ofHeap().rawFree(memory, alignment, place);
}

/// The handler of panics, `pub const panic = zkvm.panic;` in the main file: the message goes to the debug channel, and
/// the run ends in a fault, of which there is no proof.
pub const panic = std.debug.FullPanic(fail);

fn fail(message: []const u8, _: ?usize) noreturn {
    print("panic: {s}\n", .{message});
    while (true) @breakpoint();
}

/// Options for `pub const std_options = zkvm.std_options;` in the main file: `std.log` writes to the debug channel.
pub const std_options: std.Options = .{ .logFn = log };

fn log(
    comptime level: std.log.Level,
    comptime scope: @TypeOf(.enum_literal),
    comptime format: []const u8,
    arguments: anytype,
) void {
    const prefix = if (scope == .default) ": " else " (" ++ @tagName(scope) ++ "): ";
    print(comptime level.asText() ++ prefix ++ format ++ "\n", arguments);
}
