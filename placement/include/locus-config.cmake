# SPDX-License-Identifier: Apache-2.0
#
# find_package(locus @SERIES@ REQUIRED), then target_link_libraries(program locus::locus), or locus::static for liblocus.a. With
# CHECKED=1 at its installation there is locus::checked, which aborts at misuse. Places are relative to this file's own; real ones,
# as it may be found through a link such as /lib.
get_filename_component(_locus_libdir "${CMAKE_CURRENT_LIST_DIR}/../.." REALPATH)
get_filename_component(_locus_include "${_locus_libdir}/@INCLUDE@" ABSOLUTE)
foreach(_locus_name locus checked static)
    set(_locus_library liblocus.so.@VERSION@)
    set(_locus_kind SHARED)
    if(_locus_name STREQUAL checked)
        set(_locus_library liblocus-checked.so.@VERSION@)
    elseif(_locus_name STREQUAL static)
        set(_locus_library liblocus.a)
        set(_locus_kind STATIC)
    endif()
    if(EXISTS "${_locus_libdir}/${_locus_library}" AND NOT TARGET locus::${_locus_name})
        add_library(locus::${_locus_name} ${_locus_kind} IMPORTED)
        string(REPLACE @VERSION@ @SERIES@ _locus_soname ${_locus_library})
        set_target_properties(locus::${_locus_name} PROPERTIES IMPORTED_LOCATION "${_locus_libdir}/${_locus_library}"
            IMPORTED_SONAME ${_locus_soname} INTERFACE_INCLUDE_DIRECTORIES "${_locus_include}")
    endif()
endforeach()
if(TARGET locus::static)
    set_target_properties(locus::static PROPERTIES INTERFACE_LINK_LIBRARIES "@LIBRARIES@")
endif()
set(locus_FOUND TRUE)
if(NOT TARGET locus::locus)
    set(locus_FOUND FALSE)
    set(locus_NOT_FOUND_MESSAGE "liblocus.so.@VERSION@ is not in ${_locus_libdir}")
endif()
