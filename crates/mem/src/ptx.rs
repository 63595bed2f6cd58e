//! The text of kernels, in NVIDIA's portable assembly (PTX ISA, <https://docs.nvidia.com/cuda/parallel-thread-execution/>). The driver
//! compiles it for the device at first use.
//!
//! Version and target are old ones that every driver of these years takes. Kernels of a sort come from one template.

use std::fmt::Write;

use crate::kernels::{Kernel, Way};
use crate::{Number, Op};

const HEAD: &str = ".version 6.3\n.target sm_52\n.address_size 64\n";

/// The module that has this kernel alone.
pub fn text(kernel: Kernel) -> String {
    let name = kernel.name();
    match kernel {
        Kernel::Combine(op, number) => combine(&name, op, number),
        Kernel::Rows(unit) => rows(&name, unit),
        Kernel::Pieces(way) => pieces(&name, way),
    }
}

/// How elements of a number are loaded, kept and computed with.
struct Class {
    /// Type of loads and stores, such as `s8`.
    access: &'static str,
    /// Type of registers.
    register: &'static str,
    /// Type of arithmetic.
    arithmetic: &'static str,
    bytes: u32,
}

impl Class {
    fn of(number: Number) -> Self {
        let (access, register, arithmetic, bytes) = match number {
            Number::I8 => ("s8", "b32", "s32", 1),
            Number::I16 => ("s16", "b32", "s32", 2),
            Number::I32 => ("s32", "b32", "s32", 4),
            Number::I64 => ("s64", "b64", "s64", 8),
            Number::U8 => ("u8", "b32", "u32", 1),
            Number::U16 => ("u16", "b32", "u32", 2),
            Number::U32 => ("u32", "b32", "u32", 4),
            Number::U64 => ("u64", "b64", "u64", 8),
            Number::F32 => ("f32", "f32", "f32", 4),
            Number::F64 => ("f64", "f64", "f64", 8),
        };
        Self {
            access,
            register,
            arithmetic,
            bytes,
        }
    }

    fn is_float(&self) -> bool {
        self.arithmetic.starts_with('f')
    }

    /// Elements of one vector load.
    fn vector(&self) -> u32 {
        if self.bytes == 8 { 2 } else { 4 }
    }
}

/// `%a<i> = %a<i> op %b<i>`.
fn operation(op: Op, class: &Class, i: u32) -> String {
    let (register, arithmetic) = (class.register, class.arithmetic);
    let three = format!("%a{i}, %a{i}, %b{i};");
    let truths = format!("setp.ne.{arithmetic} %p4, %a{i}, 0;\n setp.ne.{arithmetic} %p5, %b{i}, 0;\n");
    let answer = format!("selp.{register} %a{i}, 1, 0, %p4;");
    // Of reals as the processor's kernels: the right operand unless the comparison holds.
    let larger = |compare: &str, integers: &str| match class.is_float() {
        true => format!("setp.{compare}.{arithmetic} %p4, %a{i}, %b{i};\n selp.{arithmetic} %a{i}, %a{i}, %b{i}, %p4;"),
        false => format!("{integers}.{arithmetic} {three}"),
    };
    let rounded = if class.is_float() { "rn." } else { "" };
    match op {
        Op::Max => larger("gt", "max"),
        Op::Min => larger("lt", "min"),
        Op::Sum => format!("add.{rounded}{arithmetic} {three}"),
        Op::Prod if class.is_float() => format!("mul.{rounded}{arithmetic} {three}"),
        Op::Prod => format!("mul.lo.{arithmetic} {three}"),
        Op::Band => format!("and.{register} {three}"),
        Op::Bor => format!("or.{register} {three}"),
        Op::Bxor => format!("xor.{register} {three}"),
        Op::Land => format!("{truths} and.pred %p4, %p4, %p5;\n {answer}"),
        Op::Lor => format!("{truths} or.pred %p4, %p4, %p5;\n {answer}"),
        Op::Lxor => format!("{truths} xor.pred %p4, %p4, %p5;\n {answer}"),
    }
}

/// Each thread takes vectors of elements where all three addresses allow it, and then what is left one by one.
fn combine(name: &str, op: Op, number: Number) -> String {
    let class = Class::of(number);
    let (width, access, bytes) = (class.vector(), class.access, class.bytes);
    let list = |letter: char| {
        let names: Vec<String> = (0..width).map(|i| format!("%{letter}{i}")).collect();
        format!("{{{}}}", names.join(", "))
    };
    let all: String = (0..width).map(|i| format!(" {}\n", operation(op, &class, i))).collect();
    let one = operation(op, &class, 0);
    let (a, b) = (list('a'), list('b'));
    let mask = width * bytes - 1;
    let vector_bytes = width * bytes;
    let register = class.register;
    format!(
        "{HEAD}.visible .entry {name}(.param .u64 result, .param .u64 left, .param .u64 right, .param .u64 count)
{{
 .reg .pred %p<6>;
 .reg .b32 %r<6>;
 .reg .b64 %d<16>;
 .reg .{register} %a<{width}>;
 .reg .{register} %b<{width}>;
 ld.param.u64 %d0, [result];
 ld.param.u64 %d1, [left];
 ld.param.u64 %d2, [right];
 ld.param.u64 %d3, [count];
 cvta.to.global.u64 %d0, %d0;
 cvta.to.global.u64 %d1, %d1;
 cvta.to.global.u64 %d2, %d2;
 mov.u32 %r0, %ntid.x;
 mov.u32 %r1, %ctaid.x;
 mov.u32 %r2, %tid.x;
 mov.u32 %r3, %nctaid.x;
 mul.wide.u32 %d4, %r1, %r0;
 cvt.u64.u32 %d5, %r2;
 add.u64 %d4, %d4, %d5;
 mul.wide.u32 %d5, %r3, %r0;
 mov.u64 %d6, 0;
 or.b64 %d7, %d0, %d1;
 or.b64 %d7, %d7, %d2;
 and.b64 %d7, %d7, {mask};
 setp.ne.u64 %p0, %d7, 0;
 @%p0 bra rest;
 div.u64 %d8, %d3, {width};
 mul.lo.u64 %d6, %d8, {width};
 mov.u64 %d9, %d4;
vectors:
 setp.ge.u64 %p1, %d9, %d8;
 @%p1 bra rest;
 mul.lo.u64 %d10, %d9, {vector_bytes};
 add.u64 %d11, %d1, %d10;
 add.u64 %d12, %d2, %d10;
 add.u64 %d13, %d0, %d10;
 ld.global.v{width}.{access} {a}, [%d11];
 ld.global.v{width}.{access} {b}, [%d12];
{all} st.global.v{width}.{access} [%d13], {a};
 add.u64 %d9, %d9, %d5;
 bra vectors;
rest:
 add.u64 %d9, %d6, %d4;
elements:
 setp.ge.u64 %p2, %d9, %d3;
 @%p2 bra done;
 mul.lo.u64 %d10, %d9, {bytes};
 add.u64 %d11, %d1, %d10;
 add.u64 %d12, %d2, %d10;
 add.u64 %d13, %d0, %d10;
 ld.global.{access} %a0, [%d11];
 ld.global.{access} %b0, [%d12];
 {one}
 st.global.{access} [%d13], %a0;
 add.u64 %d9, %d9, %d5;
 bra elements;
done:
 ret;
}}
"
    )
}

/// How a unit of so many bytes is loaded and stored, through which registers.
fn unit_access(unit: u32) -> (&'static str, &'static str) {
    match unit {
        16 => ("v2.u64", "{%u0, %u1}"),
        8 => ("u64", "%u0"),
        4 => ("u32", "%v0"),
        2 => ("u16", "%v0"),
        _ => ("u8", "%v0"),
    }
}

/// Rows of units: thread i copies unit i, then the one as many behind it as there are threads.
fn rows(name: &str, unit: u32) -> String {
    let (access, registers) = unit_access(unit);
    format!(
        "{HEAD}.visible .entry {name}(.param .u64 to, .param .u64 to_pitch, .param .u64 from, .param .u64 from_pitch, .param .u32 width, \
         .param .u32 count)
{{
 .reg .pred %p<2>;
 .reg .b32 %r<10>;
 .reg .b32 %v<1>;
 .reg .b64 %u<2>;
 .reg .b64 %d<12>;
 ld.param.u64 %d0, [to];
 ld.param.u64 %d1, [to_pitch];
 ld.param.u64 %d2, [from];
 ld.param.u64 %d3, [from_pitch];
 ld.param.u32 %r0, [width];
 ld.param.u32 %r1, [count];
 cvta.to.global.u64 %d0, %d0;
 cvta.to.global.u64 %d2, %d2;
 mov.u32 %r2, %ntid.x;
 mov.u32 %r3, %ctaid.x;
 mov.u32 %r4, %tid.x;
 mov.u32 %r5, %nctaid.x;
 mad.lo.u32 %r6, %r3, %r2, %r4;
 mul.lo.u32 %r5, %r5, %r2;
units:
 setp.ge.u32 %p0, %r6, %r1;
 @%p0 bra done;
 div.u32 %r7, %r6, %r0;
 mul.lo.u32 %r8, %r7, %r0;
 sub.u32 %r8, %r6, %r8;
 mul.wide.u32 %d4, %r8, {unit};
 cvt.u64.u32 %d5, %r7;
 mul.lo.s64 %d6, %d5, %d1;
 mul.lo.s64 %d7, %d5, %d3;
 add.s64 %d8, %d0, %d6;
 add.s64 %d8, %d8, %d4;
 add.s64 %d9, %d2, %d7;
 add.s64 %d9, %d9, %d4;
 ld.global.{access} {registers}, [%d9];
 st.global.{access} [%d8], {registers};
 add.u32 %r6, %r6, %r5;
 bra units;
done:
 ret;
}}
"
    )
}

/// Pieces: a warp takes a piece, then the one as many behind it as there are warps; its threads copy units of the largest size that both
/// addresses and the length allow. Entries are `{offset in memory, position among the packed, length}`.
fn pieces(name: &str, way: Way) -> String {
    let (from, to) = match way {
        Way::Gather => ("%d6", "%d7"),
        Way::Scatter => ("%d7", "%d6"),
    };
    let mut loops = String::new();
    let units = [16_u32, 8, 4, 1];
    for (at, unit) in units.into_iter().enumerate() {
        let (access, registers) = unit_access(unit);
        let next = units.get(at + 1).copied().unwrap_or(0);
        let choose = match next {
            0 => String::new(),
            next => format!(
                " and.b64 %d10, %d9, {mask};\n setp.ne.u64 %p1, %d10, 0;\n @%p1 bra by{next};\n",
                mask = unit - 1
            ),
        };
        let _ = write!(
            loops,
            "by{unit}:
{choose} mul.wide.u32 %d11, %r6, {unit};
copy{unit}:
 setp.ge.u64 %p2, %d11, %d8;
 @%p2 bra next;
 add.u64 %d12, {from}, %d11;
 add.u64 %d13, {to}, %d11;
 ld.global.{access} {registers}, [%d12];
 st.global.{access} [%d13], {registers};
 add.u64 %d11, %d11, {stride};
 bra copy{unit};
",
            stride = 32 * unit
        );
    }
    format!(
        "{HEAD}.visible .entry {name}(.param .u64 memory, .param .u64 entries, .param .u64 packed, .param .u32 count)
{{
 .reg .pred %p<3>;
 .reg .b32 %r<10>;
 .reg .b32 %v<1>;
 .reg .b64 %u<2>;
 .reg .b64 %d<16>;
 ld.param.u64 %d0, [memory];
 ld.param.u64 %d1, [entries];
 ld.param.u64 %d2, [packed];
 ld.param.u32 %r0, [count];
 cvta.to.global.u64 %d0, %d0;
 cvta.to.global.u64 %d1, %d1;
 cvta.to.global.u64 %d2, %d2;
 mov.u32 %r1, %ntid.x;
 mov.u32 %r2, %ctaid.x;
 mov.u32 %r3, %tid.x;
 mov.u32 %r4, %nctaid.x;
 mad.lo.u32 %r5, %r2, %r1, %r3;
 and.b32 %r6, %r5, 31;
 shr.u32 %r5, %r5, 5;
 mul.lo.u32 %r7, %r4, %r1;
 shr.u32 %r7, %r7, 5;
pieces:
 setp.ge.u32 %p0, %r5, %r0;
 @%p0 bra done;
 mul.wide.u32 %d3, %r5, 24;
 add.u64 %d3, %d1, %d3;
 ld.global.u64 %d4, [%d3];
 ld.global.u64 %d5, [%d3+8];
 ld.global.u64 %d8, [%d3+16];
 add.s64 %d6, %d0, %d4;
 add.s64 %d7, %d2, %d5;
 or.b64 %d9, %d6, %d7;
 or.b64 %d9, %d9, %d8;
{loops}next:
 add.u32 %r5, %r5, %r7;
 bra pieces;
done:
 ret;
}}
"
    )
}
